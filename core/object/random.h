// The kernel's generator: ChaCha with 8 rounds, keyed by the machine's entropy. PIDs and the call
// `random` draw from it (R20, R36).
#pragma once

#include <bit>
#include <cstddef>
#include <span>

#include "core/types.h"

namespace ravelin {

struct Kernel;

class Generator {
  public:
    /// Starts the stream that the key names.
    void seed(std::span<const std::byte, 32> key);

    /// The next 64 bits of the stream.
    u64 next();

  private:
    void refill();

    u32 key_[8] = {};
    u64 block_ = 0;
    u32 words_[16] = {};
    u32 used_ = 16;
};

/// The next 64 bits of the kernel's stream.
u64 draw(Kernel& kernel);

}  // namespace ravelin
