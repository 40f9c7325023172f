// The kernel's own tables: the window of layout.h, in the largest pages that fit, and the image in
// small pages of the rights that each part needs.
//
// Rule: no page is writable and executable, none is user code's, and only the image's code is
// executable. check() holds it by walking the tables as the hardware does, whatever made them.
// Bound: kTables tables besides the root.

#include "port-riscv/machine.h"

namespace ravelin::riscv {

namespace {

using Entry = Port::Format::Entry;
using Table = Entry[LAYOUT_PAGE / sizeof(Entry)];

constexpr u32 kTables = 24;
constexpr unsigned kLevels = Port::Format::kLevels;
constexpr unsigned kIndexBits = Port::Format::kIndexBits;
constexpr u32 kEntries = u32{1} << kIndexBits;

// Bits of an entry beside those of Port::Format.
constexpr Entry kGlobal = 1U << 5;
constexpr Entry kConstants = Port::Format::kValid | Port::Format::kReadable | kGlobal |
                             Port::Format::kAccessed | Port::Format::kDirty;
constexpr Entry kData = kConstants | Port::Format::kWritable;
constexpr Entry kCode = kConstants | Port::Format::kExecutable;
constexpr unsigned kFrameShift = Port::Format::kFrameShift;

alignas(LAYOUT_PAGE) Table root;
alignas(LAYOUT_PAGE) Table tables[kTables];
u32 tables_used = 0;

struct Window {
    Word address;
    u64 physical;
    u64 bytes;
};

// Device registers wait here until the tables are made.
constexpr u32 kDevices = 4;
Window devices[kDevices];
u32 devices_used = 0;

constexpr u64 page_bytes(unsigned level) {
    return u64{LAYOUT_PAGE} << level * kIndexBits;
}

u64 physical(const void* pointer) {
    return reinterpret_cast<Word>(pointer) - LAYOUT_OFFSET;
}

Table& table_at(Entry entry) {
    const Word frame = static_cast<Word>(entry >> kFrameShift);
    return *reinterpret_cast<Table*>(frame * LAYOUT_PAGE + LAYOUT_OFFSET);
}

u32 index_of(Word address, unsigned level) {
    return static_cast<u32>(address / page_bytes(level)) % kEntries;
}

void map_page(Word address, u64 frame_address, unsigned level, Entry rights) {
    Table* table = &root;
    for (unsigned at = kLevels - 1; at > level; --at) {
        Entry& entry = (*table)[index_of(address, at)];
        if (entry == 0) {
            if (tables_used == kTables) {
                refuse("memory too scattered for the kernel's tables");
            }
            entry =
                static_cast<Entry>(physical(tables[tables_used++]) / LAYOUT_PAGE << kFrameShift) |
                Port::Format::kValid;
        }
        table = &table_at(entry);
    }
    Entry& entry = (*table)[index_of(address, level)];
    if (entry != 0) {
        refuse("the kernel's mappings overlap");
    }
    entry = static_cast<Entry>(frame_address / LAYOUT_PAGE << kFrameShift) | rights;
}

void map(const Window& window, unsigned largest, Entry rights) {
    for (u64 done = 0; done < window.bytes;) {
        const u64 place = window.physical + done;
        const Word address = window.address + static_cast<Word>(done);
        unsigned level = largest;
        while (level > 0 && (place % page_bytes(level) != 0 || address % page_bytes(level) != 0 ||
                             window.bytes - done < page_bytes(level))) {
            --level;
        }
        map_page(address, place, level, rights);
        done += page_bytes(level);
    }
}

void map_image(const void* from, const void* to, Entry rights) {
    const Word address = reinterpret_cast<Word>(from);
    map({address, physical(from), reinterpret_cast<Word>(to) - address}, 0, rights);
}

struct Checked {
    u64 executable = 0;  ///< bytes
    bool sound = true;
};

void check_leaf(Checked& checked, Word address, u64 place, u64 bytes, Entry entry) {
    const bool writable = (entry & Port::Format::kWritable) != 0;
    const u64 start = physical(ravelin_image_start);
    const u64 constants_end = physical(ravelin_constants_end);
    if ((entry & Port::Format::kExecutable) != 0) {
        checked.executable += bytes;
        checked.sound = checked.sound && !writable && place >= start &&
                        place + bytes <= physical(ravelin_code_end) &&
                        address == place + LAYOUT_OFFSET;
    }
    const bool read_only = place < constants_end && start < place + bytes;
    checked.sound = checked.sound && (entry & Port::Format::kUser) == 0 &&
                    (entry & Port::Format::kReadable) != 0 && !(writable && read_only);
}

void check_table(Checked& checked, const Table& table, unsigned level, Word base) {
    for (u32 index = 0; index < kEntries; ++index) {
        const Entry entry = table[index];
        if (!Port::Format::is_valid(entry)) {
            continue;
        }
        const Word address = base + static_cast<Word>(index * page_bytes(level));
        if (Port::Format::is_leaf(entry)) {
            check_leaf(checked, address, u64{entry >> kFrameShift} * LAYOUT_PAGE, page_bytes(level),
                       entry);
        } else if (level == 0) {
            checked.sound = false;
        } else {
            check_table(checked, table_at(entry), level - 1, address);
        }
    }
}

Entry leaf_of(Word address) {
    const Table* table = &root;
    for (unsigned level = kLevels - 1;; --level) {
        const Entry entry = (*table)[index_of(address, level)];
        if (!Port::Format::is_valid(entry) || Port::Format::is_leaf(entry) || level == 0) {
            return entry;
        }
        table = &table_at(entry);
    }
}

void check() {
    Checked checked;
    for (u32 index = 0; index < Port::kWindowEntry; ++index) {
        checked.sound = checked.sound && root[index] == 0;
    }
    // An address of the upper half is sign-extended: the base makes up for what the index cannot hold.
    const Word base =
        LAYOUT_WINDOW - static_cast<Word>(Port::kWindowEntry * page_bytes(kLevels - 1));
    check_table(checked, root, kLevels - 1, base);
    for (const HartStack& stack : ravelin_stacks) {
        checked.sound = checked.sound && leaf_of(reinterpret_cast<Word>(stack.guard)) == 0;
    }
    if (!checked.sound ||
        checked.executable != physical(ravelin_code_end) - physical(ravelin_image_start)) {
        refuse("the kernel's mappings break W^X");
    }
}

}  // namespace

Word device_window(u64 address, u64 bytes) noexcept {
    if (devices_used == kDevices) {
        refuse("too many device windows");
    }
#if __riscv_xlen == 64
    const Word window = address + LAYOUT_OFFSET;
#else
    // One after the other in the window's last part, each at its place in a large page.
    constexpr u64 kLarge = u64{1} << LAYOUT_ROOT_SHIFT;
    Word next = LAYOUT_DEVICES;
    if (devices_used != 0) {
        const Window& last = devices[devices_used - 1];
        next = static_cast<Word>((last.address + last.bytes + kLarge - 1) / kLarge * kLarge);
    }
    const Word window = next + static_cast<Word>(address % kLarge);
#endif
    devices[devices_used++] = {window, address,
                               (bytes + LAYOUT_PAGE - 1) / LAYOUT_PAGE * LAYOUT_PAGE};
    return window;
}

void make_window(Port& port, Ranges& mapped) noexcept {
    for (const Range& range : mapped.view()) {
        map({static_cast<Word>(range.base + LAYOUT_OFFSET), range.base, range.end - range.base},
            kLevels - 1, kData);
    }
    map_image(ravelin_image_start, ravelin_code_end, kCode);
    map_image(ravelin_code_end, ravelin_constants_end, kConstants);
    map_image(ravelin_constants_end, ravelin_stacks, kData);
    for (HartStack& stack : ravelin_stacks) {
        map_image(stack.stack, &stack + 1, kData);
    }
    map_image(ravelin_stacks + kMaxHarts, ravelin_image_end, kData);
    for (u32 i = 0; i < devices_used; ++i) {
        map(devices[i], kLevels - 1, kData);
    }
    check();
    port.kernel_root = root;
    port.kernel_space = Port::kPaging | static_cast<Word>(physical(root) / LAYOUT_PAGE);
    csr_write<kSatp>(port.kernel_space);
    flush_everything();
}

}  // namespace ravelin::riscv
