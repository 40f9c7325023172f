// The console: a 16550 UART, polled. Bytes go out as they come, one hart's among another's.

#include "port-riscv/firmware/firmware.h"

namespace ravelin::firmware {

namespace {

enum UartRegister : Word { kData = 0, kFifo = 2, kLine = 3, kStatus = 5 };

constexpr std::uint8_t kFifoOn = 1, kEightBits = 3, kReceived = 1U << 0, kMaySend = 1U << 5;

volatile std::uint8_t& uart(UartRegister which) noexcept {
    return device<std::uint8_t>(BOARD_UART_BASE + which);
}

}  // namespace

void console_init() noexcept {
    uart(kLine) = kEightBits;
    uart(kFifo) = kFifoOn;
}

void console_put(char byte) noexcept {
    while ((uart(kStatus) & kMaySend) == 0) {
    }
    uart(kData) = static_cast<std::uint8_t>(byte);
}

int console_get() noexcept {
    if ((uart(kStatus) & kReceived) == 0) return -1;
    return uart(kData);
}

void console_print(const char* text) noexcept {
    for (; *text != '\0'; ++text) {
        console_put(*text);
    }
}

void console_print_hex(Word value) noexcept {
    console_print(" 0x");
    for (int shift = static_cast<int>(sizeof value) * 8 - 4; shift >= 0; shift -= 4) {
        console_put("0123456789abcdef"[(value >> shift) & 0xF]);
    }
}

}  // namespace ravelin::firmware
