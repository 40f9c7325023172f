// What a kernel on the null port holds, as a View; and the laws of its books, recomputed from its
// objects (I5, I6, I8, I9, R6).
#pragma once

#include "core/kernel.h"
#include "tests/differential/view.h"

namespace ravelin::differential {

/// Names a frame in a view: the model's name for it, or its number.
using FrameNames = std::function<std::uint64_t(std::uint32_t frame)>;

/// The whole state. Frames are named by `names`.
View view_of(Kernel& kernel, const FrameNames& names);

/// The same with frames by number.
View view_of(Kernel& kernel);

/// The first law of the books that the kernel's state breaks; empty if none. Each budget's use is what
/// its objects, tables, pages and children cost, within its limits; labels grow downward; class and
/// account are inherited; no page is writable and executable, and none valid in two spaces; every
/// handle names a live object and a live stamp.
std::string broken_law(Kernel& kernel);

}  // namespace ravelin::differential
