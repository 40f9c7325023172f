// Device objects: made at boot from the board's facts, charged to the system budget, named by
// handles (R18).
#pragma once

#include "core/object/object.h"
#include "core/port.h"

namespace ravelin {

struct Device {
    ObjectHead head;
    DeviceFact fact;
};

}  // namespace ravelin
