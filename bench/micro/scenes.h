// The scenes that ravelin-micro measures: each stages something, then does one operation many times
// between a meter's begin and end.
//
// Every scene of the kernel is a machine of its own, at one hart, in virtual time without the cost
// model, so what it executes between begin and end is the same in every run. Bound: a run of a scene
// takes some ten milliseconds.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/types.h"

namespace ravelin::micro {

/// Measures what happens between the two, on one OS thread.
class Meter {
  public:
    virtual ~Meter() = default;
    virtual void begin() = 0;
    virtual void end() = 0;
};

struct Scene {
    std::string name;  ///< operation/variant/queued budgets
    u64 operations;    ///< between begin and end
    std::function<void(Meter&)> run;
};

/// Scenes of a whole kernel: slice ends, calls, messages, budgets.
std::vector<Scene> kernel_scenes();

/// Scenes of its parts alone: fold, pick, turn, the port's coroutine switch.
std::vector<Scene> part_scenes();

}  // namespace ravelin::micro
