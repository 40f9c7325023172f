// Counts the system calls a scene makes between begin and end, by watching a child process from
// outside (ptrace), so that nothing in it can make one unseen.
#pragma once

#include "bench/micro/scenes.h"

namespace ravelin::micro {

/// System calls of one run of the scene. Throws std::system_error if the host forbids watching,
/// std::runtime_error if the child fails.
u64 system_calls_of(const Scene& scene);

}  // namespace ravelin::micro
