// The memory tests' machine with Sv39 tables.
#pragma once

#include "tests/unit/memory/port.h"

namespace ravelin {
using Port = MemoryTestPort<riscv::Sv39>;
}  // namespace ravelin
