// Stacks and copies on RISC-V: a program is its code and its constants (program.ld), neither of which
// can be written, so a copy of them is a whole copy of the program. See launch.h.

#include "user/rt/launch.h"

#include <cstring>

#include "user/rt/trap.h"

// Where program.ld puts the program.
extern "C" {
extern const char ravelin_code_start[];
extern const char ravelin_code_end[];
extern const char ravelin_constants_start[];
extern const char ravelin_constants_end[];
}

namespace ravelin::rt {

namespace {

constexpr Word kStackLength = 4 * kPageSize;

// Where a copy's first stack lies: far above any program and below the areas that the kernel maps in.
constexpr Word kFirstStack = 0x2000'0000;

// The page tables, the pages of a few threads and of the handle table, and their records and stacks.
constexpr Word kPagesBesideImage = 64;

Word address_of(const char* symbol) {
    return reinterpret_cast<Word>(symbol);
}

Outcome copy_range(const Process& process, Word start, Word end, u32 rights) {
    const Word length = whole_pages(end - start);
    if (length == 0) {
        return Status::ok;
    }
    Result<Word> pages = map_anon(length, abi::kRead | abi::kWrite);
    if (!pages.ok()) {
        return pages.status();
    }
    std::memcpy(user_memory(pages.value()), user_memory(start), end - start);
    return process_map(process, pages.value(), start, length, rights);
}

}  // namespace

Stack::~Stack() {
    if (base_ != 0) {
        static_cast<void>(unmap(base_, kStackLength));
    }
}

Result<Stack> Stack::make() {
    Result<Word> base = map_anon(kStackLength, abi::kRead | abi::kWrite);
    if (!base.ok()) {
        return base.status();
    }
    return Stack{base.value()};
}

Word Stack::top() const {
    return base_ + kStackLength;
}

Word copy_pages() {
    const Word image =
        whole_pages(address_of(ravelin_constants_end)) - address_of(ravelin_code_start);
    return image / kPageSize + kPagesBesideImage;
}

Result<Word> load_copy(const Process& process) {
    const Outcome code = copy_range(process, address_of(ravelin_code_start),
                                    address_of(ravelin_code_end), abi::kRead | abi::kExecute);
    if (!code.ok()) {
        return code.status();
    }
    const Outcome constants = copy_range(process, address_of(ravelin_constants_start),
                                         address_of(ravelin_constants_end), abi::kRead);
    if (!constants.ok()) {
        return constants.status();
    }
    Result<Word> stack = map_anon(kStackLength, abi::kRead | abi::kWrite);
    if (!stack.ok()) {
        return stack.status();
    }
    const Outcome moved =
        process_map(process, stack.value(), kFirstStack, kStackLength, abi::kRead | abi::kWrite);
    if (!moved.ok()) {
        return moved.status();
    }
    return kFirstStack + kStackLength;
}

}  // namespace ravelin::rt
