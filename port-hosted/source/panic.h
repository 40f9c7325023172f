// The port's own end: the kernel broke the port's contract, or the host cannot go on.
#pragma once

namespace ravelin::hosted {

/// Prints one line and aborts. For breaches of a contract, not for anything a guest can do. May be
/// called by a signal handler.
[[noreturn, gnu::format(printf, 1, 2)]] void panic(const char* format, ...) noexcept;

}  // namespace ravelin::hosted
