// The numbers of the RISC-V Supervisor Binary Interface (specification 1.0, and the debug console
// of 2.0): extensions, functions, errors, states. Shared by the firmware and its conformance image.

#pragma once

#include <cstdint>

namespace ravelin::sbi {

/// As wide as a register: every argument and result of a call.
using Word = unsigned long;

inline constexpr Word kBase = 0x10;
inline constexpr Word kTime = 0x54494D45;
inline constexpr Word kIpi = 0x735049;
inline constexpr Word kRfence = 0x52464E43;
inline constexpr Word kHsm = 0x48534D;
inline constexpr Word kSrst = 0x53525354;
inline constexpr Word kDbcn = 0x4442434E;

inline constexpr Word kLegacySetTimer = 0;
inline constexpr Word kLegacyPutchar = 1;
inline constexpr Word kLegacyGetchar = 2;
inline constexpr Word kLegacyShutdown = 8;

/// What our firmware answers as its implementation id, "Rvln": no registered one has it.
inline constexpr Word kOurImplementation = 0x52766C6E;

namespace base {
inline constexpr Word kSpecVersion = 0;
inline constexpr Word kImplementationId = 1;
inline constexpr Word kImplementationVersion = 2;
inline constexpr Word kProbe = 3;
inline constexpr Word kVendor = 4;
inline constexpr Word kArchitecture = 5;
inline constexpr Word kMachine = 6;
}  // namespace base

namespace rfence {
inline constexpr Word kFenceI = 0;
inline constexpr Word kSfenceVma = 1;
inline constexpr Word kSfenceVmaAsid = 2;
}  // namespace rfence

namespace hsm {
inline constexpr Word kStart = 0;
inline constexpr Word kStop = 1;
inline constexpr Word kStatus = 2;
}  // namespace hsm

namespace dbcn {
inline constexpr Word kWrite = 0;
inline constexpr Word kRead = 1;
inline constexpr Word kWriteByte = 2;
}  // namespace dbcn

namespace srst {
inline constexpr Word kShutdown = 0;
inline constexpr Word kColdReboot = 1;
inline constexpr Word kWarmReboot = 2;
inline constexpr Word kNoReason = 0;
inline constexpr Word kSystemFailure = 1;
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
