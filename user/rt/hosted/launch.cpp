// Stacks and copies on a hosted kernel: the port gives every thread a host stack, and every process
// sees the one copy of the code. See launch.h.

#include "user/rt/launch.h"

namespace ravelin::rt {

namespace {

// The page-table tree, the thread's and the handle table's pages, a page of records a thread.
constexpr Word kCopyPages = 64;

}  // namespace

Stack::~Stack() = default;

Result<Stack> Stack::make() {
    return Stack{};
}

Word Stack::top() const {
    return base_;
}

Word copy_pages() {
    return kCopyPages;
}

Result<Word> load_copy(const Process&) {
    return Word{0};
}

}  // namespace ravelin::rt
