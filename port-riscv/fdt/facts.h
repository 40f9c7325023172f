// What boot must know of a board, taken from its device tree.
//
// Rule: everything comes from the tree and nothing is assumed, so that ids are not indices, hart 0
// need not exist, and contexts of the interrupt controller are found, not computed. A fact that a
// kernel cannot do without is a Status when it is missing; the rest is optional. Addresses are the
// CPU's (bus `ranges` are applied) and 64 bits wide on either width of machine.
// Nodes whose status is not "okay" count as absent, but for harts, which are listed as unusable.
// Bound: one walk of the tree and one look at each node's properties; fixed room for each list.

#pragma once

#include "port-riscv/fdt/tree.h"

#include <array>

namespace ravelin::fdt {

/// A list with room for N.
template <class T, std::size_t N>
class List {
  public:
    /// False if the list is full.
    bool push(const T& item) noexcept {
        if (count_ == N) return false;
        items_[count_++] = item;
        return true;
    }
    std::span<const T> view() const noexcept { return {items_.data(), count_}; }
    std::span<T> view() noexcept { return {items_.data(), count_}; }
    std::size_t size() const noexcept { return count_; }
    const T& operator[](std::size_t index) const noexcept { return items_[index]; }

  private:
    std::array<T, N> items_{};
    std::size_t count_ = 0;
};

/// Physical memory or device registers: `size` bytes from `base`; never wraps.
struct Region {
    std::uint64_t base = 0;
    std::uint64_t size = 0;
    friend bool operator==(const Region&, const Region&) = default;
};

/// A device with one block of registers. Interrupt 0 is none.
struct Device {
    Region registers;
    std::uint32_t interrupt = 0;
    friend bool operator==(const Device&, const Device&) = default;
};

enum class Paging : std::uint8_t { none, sv32, sv39, sv48, sv57 };

struct Hart {
    std::uint64_t id = 0;
    /// Enabled, and has S-mode with paging.
    bool usable = false;
    Paging paging = Paging::none;
    /// Has S-mode's own timer compare register.
    bool sstc = false;
    /// The interrupt controller's context for this hart's S-mode external interrupt.
    std::optional<std::uint32_t> context;
    /// Of the hart's local interrupt controller; 0 is none.
    std::uint32_t phandle = 0;
};

struct Plic {
    Region registers;
    /// Sources are 1 to `sources`.
    std::uint32_t sources = 0;
};

/// The most sources a PLIC can have.
inline constexpr std::uint32_t kMaxSources = 1023;

enum class UartKind : std::uint8_t { ns16550, sifive };

struct Uart {
    Device device;
    UartKind kind = UartKind::ns16550;
    /// Registers are 1 << shift bytes apart.
    std::uint32_t shift = 0;
    /// Input clock in Hz; 0 if the tree does not say.
    std::uint32_t clock = 0;
};

struct Facts {
    List<Region, 16> memory;
    /// What the tree says to keep off: its reservation block and /reserved-memory.
    List<Region, 64> reserved;
    List<Hart, 64> harts;
    /// Ticks of the time counter a second.
    std::uint64_t timebase = 0;
    std::optional<Plic> plic;
    /// The console the tree chose, else the first UART.
    std::optional<Uart> uart;
    std::optional<Device> rtc;
    List<Device, 32> virtio;
    std::optional<Region> initrd;
    /// Views into the tree.
    std::string_view bootargs;
    Bytes rng_seed;
};

/// Reads the facts from an open tree. On anything but ok the facts are incomplete.
Status read_facts(const Tree& tree, Facts& facts) noexcept;

}  // namespace ravelin::fdt
