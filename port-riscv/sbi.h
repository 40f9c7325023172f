// The numbers of the RISC-V Supervisor Binary Interface (specification 1.0, and the debug console
// of 2.0): extensions, functions, errors, states. Shared by those who call firmware and by our own.

#pragma once

#include <cstdint>

namespace ravelin::sbi {

/// As wide as a register: every argument and result of a call.
using Word = std::uintptr_t;

/// Extension ids. Legacy extensions are one call each.
inline constexpr Word kBase = 0x10, kTime = 0x54494D45, kIpi = 0x735049, kRfence = 0x52464E43,
                      kHsm = 0x48534D, kSrst = 0x53525354, kDbcn = 0x4442434E;
inline constexpr Word kLegacySetTimer = 0, kLegacyPutchar = 1, kLegacyGetchar = 2,
                      kLegacyShutdown = 8;

/// What our firmware answers as its implementation id, "Rvln": no registered one has it.
inline constexpr Word kOurImplementation = 0x52766C6E;

// Function ids, extension by extension.
namespace base {
inline constexpr Word kSpecVersion = 0, kImplementationId = 1, kImplementationVersion = 2,
                      kProbe = 3, kVendor = 4, kArchitecture = 5, kMachine = 6;
}
namespace timer {
inline constexpr Word kSet = 0;
}
namespace ipi {
inline constexpr Word kSend = 0;
}
namespace rfence {
inline constexpr Word kFenceI = 0, kSfenceVma = 1, kSfenceVmaAsid = 2;
}
namespace hsm {
inline constexpr Word kStart = 0, kStop = 1, kStatus = 2;
}
namespace dbcn {
inline constexpr Word kWrite = 0, kRead = 1, kWriteByte = 2;
}
namespace srst {
inline constexpr Word kReset = 0;
inline constexpr Word kShutdown = 0, kColdReboot = 1, kWarmReboot = 2;
inline constexpr Word kNoReason = 0, kSystemFailure = 1;
}  // namespace srst

/// What a call answers in a0.
enum class Error : long {
    success = 0,
    failed = -1,
    not_supported = -2,
    invalid_param = -3,
    denied = -4,
    invalid_address = -5,
    already_available = -6,
    already_started = -7,
    already_stopped = -8,
};

/// What hart_get_status answers in a1.
enum class HartStatus : Word { started = 0, stopped = 1, start_pending = 2, stop_pending = 3 };

/// A call's two results: a0 and a1.
struct Result {
    Error error = Error::success;
    Word value = 0;
};

}  // namespace ravelin::sbi
