// The memory tests' machine with Sv32 tables.
#pragma once

#include "tests/unit/memory/port.h"

namespace ravelin {
using Port = MemoryTestPort<riscv::Sv32>;
}  // namespace ravelin
