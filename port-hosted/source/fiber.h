// Switching stacks, and all that the sanitizers and valgrind must be told about it: no other file
// knows them.
//
// A Fiber is a stack with its stopped state. Invariant: exactly one Fiber of an OS thread runs, and
// its `stopped` is stale; every other one's is where it goes on. Boost.Context saves no exception
// state, so nothing here is called while an exception is handled, and a stack that is dropped is
// not unwound.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>

// RAVELIN_ASAN and RAVELIN_TSAN come from the build, not from the compiler: files compiled without
// the sanitizer must see the same layouts.
#ifdef RAVELIN_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef RAVELIN_TSAN
#include <sanitizer/tsan_interface.h>
#endif
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#define RAVELIN_VALGRIND 1
#endif

namespace ravelin::hosted {

#if defined(RAVELIN_ASAN) || defined(RAVELIN_TSAN)
inline constexpr bool kSanitized = true;  ///< frames are larger
#else
inline constexpr bool kSanitized = false;
#endif

struct Fiber {
    void* stopped = nullptr;
    const void* bottom = nullptr;  ///< lowest byte of the stack; null: an OS thread's own
    std::size_t size = 0;
#ifdef RAVELIN_ASAN
    void* fake_stack = nullptr;
#endif
#ifdef RAVELIN_TSAN
    void* tsan = nullptr;
#endif
#ifdef RAVELIN_VALGRIND
    unsigned valgrind = 0;
#endif
};

#ifdef RAVELIN_TSAN
// The bounds of all code but the sanitizer's run time: see tsan.ld.
extern "C" const std::byte ravelin_text_begin[], ravelin_text_end[];
#endif

/// Whether a fiber that a signal interrupted at `code` may be stopped there. ThreadSanitizer's run
/// time may not: it holds locks that the next fiber of the OS thread needs.
inline bool fiber_may_leave([[maybe_unused]] const void* code) {
#ifdef RAVELIN_TSAN
    return code >= ravelin_text_begin && code < ravelin_text_end;
#else
    return true;
#endif
}

using Transfer = boost::context::detail::transfer_t;

/// A fiber that begins in `entry` on the stack of `size` bytes from `bottom` when first switched
/// to. `entry` starts with fiber_bottom and fiber_arrived and never returns. Sanitizers take its
/// top part for the stack.
inline void fiber_make(Fiber& fiber, void* bottom, std::size_t size, std::size_t usable,
                       void (*entry)(Transfer)) {
    fiber.bottom = bottom;
    fiber.size = size;
    fiber.stopped = boost::context::detail::make_fcontext(static_cast<std::byte*>(bottom) + usable,
                                                          usable, entry);
#ifdef RAVELIN_ASAN
    // What an earlier, dropped fiber left on this stack is nobody's frame any more.
    __asan_unpoison_memory_region(bottom, size);
    fiber.fake_stack = nullptr;
#endif
#ifdef RAVELIN_TSAN
    fiber.tsan = __tsan_create_fiber(0);
#endif
#ifdef RAVELIN_VALGRIND
    fiber.valgrind = VALGRIND_STACK_REGISTER(bottom, static_cast<std::byte*>(bottom) + size);
#endif
}

/// Makes the running OS thread's own stack a fiber that others can switch back to.
inline void fiber_adopt([[maybe_unused]] Fiber& fiber) {
#ifdef RAVELIN_TSAN
    fiber.tsan = __tsan_get_current_fiber();
#endif
}

/// The fiber will not run again. It is not the running one.
inline void fiber_drop([[maybe_unused]] Fiber& fiber) {
#ifdef RAVELIN_TSAN
    __tsan_destroy_fiber(fiber.tsan);
    fiber.tsan = nullptr;
#endif
#ifdef RAVELIN_VALGRIND
    VALGRIND_STACK_DEREGISTER(fiber.valgrind);
#endif
}

/// Marks the function it is called in as the first on its stack, for debuggers and unwinders: what
/// stands at its return address is no caller. 16 is the return address in the call frame
/// information.
[[gnu::always_inline]] inline void fiber_bottom() {
    asm volatile(".cfi_undefined 16");
}

/// Said by the function that a fiber begins in: no frame lies above it, whatever is on the stack
/// there. Debuggers and profilers end a backtrace with it.
[[gnu::always_inline]] inline void fiber_is_outermost() {
    asm volatile(".cfi_undefined rip");
}

/// What `self` does first when it was switched to.
inline void fiber_arrived([[maybe_unused]] Fiber& self, Transfer transfer) {
    Fiber& from = *static_cast<Fiber*>(transfer.data);
    from.stopped = transfer.fctx;
#ifdef RAVELIN_ASAN
    const void* bottom = nullptr;
    std::size_t size = 0;
    __sanitizer_finish_switch_fiber(self.fake_stack, &bottom, &size);
    if (from.bottom == nullptr) {
        from.bottom = bottom;
        from.size = size;
    }
#endif
}

/// Stops `from`, the running fiber, and goes on with `to`; returns when something switches back, on
/// whatever OS thread that is.
inline void fiber_switch(Fiber& from, Fiber& to) {
#ifdef RAVELIN_ASAN
    __sanitizer_start_switch_fiber(&from.fake_stack, to.bottom, to.size);
#endif
#ifdef RAVELIN_TSAN
    __tsan_switch_to_fiber(to.tsan, 0);
#endif
    fiber_arrived(from, boost::context::detail::jump_fcontext(to.stopped, &from));
}

}  // namespace ravelin::hosted
