// Handles that close themselves. A handle's index is a place in the process's table; the type says what
// it names. Invariant: one owner an index; an index whose object is gone must be forgotten, because
// the kernel has emptied the place and may give it to the next handle.
#pragma once

#include <utility>

#include "user/rt/types.h"

namespace ravelin::rt {

/// Closes the handle `index`. 0 and indices that name nothing change nothing.
void close_handle(u32 index);

/// The owner of one place in the handle table, or of none.
class Handle {
  public:
    Handle() = default;
    explicit Handle(u32 index) : index_(index) {}
    Handle(Handle&& other) noexcept : index_(other.forget()) {}
    Handle& operator=(Handle&& other) noexcept {
        if (this != &other) {
            close();
            index_ = other.forget();
        }
        return *this;
    }
    ~Handle() { close(); }

    u32 index() const { return index_; }
    explicit operator bool() const { return index_ != 0; }

    /// Gives up ownership without closing: the kernel has closed it, or another owner has it.
    u32 forget() { return std::exchange(index_, 0); }

    void close() {
        if (index_ != 0) {
            close_handle(forget());
        }
    }

  private:
    u32 index_ = 0;
};

/// A budget, to carve from, to run processes in, to destroy.
struct Budget : Handle {
    using Handle::Handle;
};

/// An endpoint: one with badge 0 receives, every one sends.
struct Endpoint : Handle {
    using Handle::Handle;
};

/// A process that this one made.
struct Process : Handle {
    using Handle::Handle;
};

/// A window of a device's registers.
struct RegisterWindow : Handle {
    using Handle::Handle;
};

/// A device's interrupt, to be received.
struct Interrupt : Handle {
    using Handle::Handle;
};

/// The right to end the machine.
struct ResetDevice : Handle {
    using Handle::Handle;
};

}  // namespace ravelin::rt
