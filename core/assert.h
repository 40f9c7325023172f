// Assertions of checked builds: a kernel that finds its own rule broken stops with the place (a
// panic is a bug, I14).
//
// RAVELIN_CHECKED=1 compiles them; otherwise they are not evaluated and leave no byte. The one
// function behind them is the port's: a place in the code knows no kernel, and there is no global
// one to ask.
#pragma once

namespace ravelin {

/// Stops the machine with the place of a broken assertion. Does not return.
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line) noexcept;

}  // namespace ravelin

#if RAVELIN_CHECKED
#define RAVELIN_ASSERT(condition)                                                                  \
    ((condition) ? static_cast<void>(0)                                                            \
                 : ::ravelin::assertion_failed(#condition, __FILE__, __LINE__))
#else
#define RAVELIN_ASSERT(condition) static_cast<void>(0)
#endif
