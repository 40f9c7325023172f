// A call's registers as the kernel reads and writes them; see core/abi/calls.h for their layout.
#pragma once

#include "core/abi/calls.h"
#include "core/assert.h"
#include "core/port.h"

namespace ravelin {

/// The 64-bit value in registers `place` and `place + 1`.
inline u64 read_pair(const Port::Context& context, unsigned place) {
    if constexpr (sizeof(Word) == 8) {
        return context.reg(place);
    } else {
        return u64{context.reg(place)} | u64{context.reg(place + 1)} << 32;
    }
}

inline void write_pair(Port::Context& context, unsigned place, u64 value) {
    context.set_reg(place, static_cast<Word>(value));
    if constexpr (sizeof(Word) == 4) context.set_reg(place + 1, static_cast<Word>(value >> 32));
}

/// Ends a call: its status and up to three results; argument registers without a result become 0.
inline void finish(Port::Context& context, abi::Status status, Word first = 0, Word second = 0,
                   Word third = 0) {
    RAVELIN_ASSERT(abi::may_give(context.reg(0), status));
    context.set_reg(0, static_cast<Word>(status));
    context.set_reg(1, first);
    context.set_reg(2, second);
    context.set_reg(3, third);
    for (unsigned place = 4; place < 8; ++place)
        context.set_reg(place, 0);
}

/// Ends a receive: like finish, but register 3 keeps what became of the reply before it.
inline void finish_receive(Port::Context& context, abi::Status status, Word kind = 0,
                           Word brought = 0) {
    finish(context, status, kind, brought, context.reg(3));
}

/// Ends a call whose one result is a 64-bit value.
inline void finish_pair(Port::Context& context, u64 value) {
    finish(context, abi::Status::ok);
    write_pair(context, 1, value);
}

/// Copies a message's four words from one context to another.
inline void copy_words(Port::Context& to, const Port::Context& from) {
    for (unsigned place = abi::kWordRegister; place < abi::kBadgeRegister; ++place) {
        if constexpr (sizeof(Word) == 8) {
            if (place % 2 != 0) continue;
        }
        to.set_reg(place, from.reg(place));
    }
}

}  // namespace ravelin
