// What the memory tests share: a budget that only counts, and a machine with its frames.
#pragma once

#include <random>

#include "core/memory/space.h"

namespace ravelin {

/// Numbers that a seed decides.
class Random {
  public:
    explicit Random(u32 seed) : engine_(seed) {}

    u32 below(u32 limit) { return static_cast<u32>(engine_() % limit); }

  private:
    std::mt19937_64 engine_;
};

/// The kernel's budgets are another room's; here a limit and a count.
struct Budget {
    u32 limit = 0;
    u32 used = 0;
};

/// A port and the free frames of its RAM.
struct Machine {
    Port port;
    Frames frames;

    Machine() { ready = frames.init(port, port.facts()); }
    bool ready = false;
};

/// One process's memory as the kernel holds it.
struct Process {
    Machine& machine;
    Budget& payer;
    u32 number = 2;
    Space space{};

    MemoryContext context() {
        return {machine.port, HartIndex{0}, machine.frames, payer, space, number};
    }
};

}  // namespace ravelin
