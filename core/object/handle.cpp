// Handle tables; see handle.h.
#include "core/object/handle.h"

#include <new>

#include "core/assert.h"

namespace ravelin {

namespace {

constexpr u64 kFull = ~u64{0};

void link(HandleSlot*& head, HandleSlot& slot, HandleLink HandleSlot::* chain) {
    (slot.*chain).next = head;
    (slot.*chain).previous = nullptr;
    if (head != nullptr) (head->*chain).previous = &slot;
    head = &slot;
}

void unlink(HandleSlot*& head, HandleSlot& slot, HandleLink HandleSlot::* chain) {
    HandleLink& at = slot.*chain;
    (at.previous != nullptr ? (at.previous->*chain).next : head) = at.next;
    if (at.next != nullptr) (at.next->*chain).previous = at.previous;
}

// The used bits of an empty page: number 0 is no handle.
u64 empty_bits(u32 page) {
    return page == 0 ? 1 : 0;
}

}  // namespace

HandleSlot* find_handle(Process& process, Word handle) {
    if (handle >= abi::kMaxHandles) return nullptr;
    HandleSlot* page = process.handle_pages[handle / kSlotsPerPage];
    if (page == nullptr) return nullptr;
    HandleSlot* slot = page + handle % kSlotsPerPage;
    return slot->object == nullptr ? nullptr : slot;
}

abi::Status install_handle(Kernel& kernel, Process& process, ObjectHead& object, Budget& stamp,
                           u64 badge, u32& handle) {
    u32 page = process.first_free_page;
    while (page < kHandlePages && process.handle_pages[page] != nullptr &&
           process.handles_used[page] == kFull)
        ++page;
    if (page == kHandlePages) return abi::Status::too_large;
    if (process.handle_pages[page] == nullptr) {
        if (!charge(*process.budget, 1)) return abi::Status::out_of_memory;
        FrameNumber frame = kernel.frames.take(kernel.port);
        RAVELIN_ASSERT(frame != FrameNumber{});
        process.handle_pages[page] = static_cast<HandleSlot*>(kernel.port.frame_pointer(frame));
        process.handles_used[page] = empty_bits(page);
    }
    process.first_free_page = page;
    u32 place = static_cast<u32>(std::countr_one(process.handles_used[page]));
    process.handles_used[page] |= u64{1} << place;
    HandleSlot& slot = *new (process.handle_pages[page] + place) HandleSlot;
    slot.object = &object;
    slot.stamp = &stamp;
    slot.badge = badge;
    slot.pid = static_cast<u16>(process.pid);
    slot.index = static_cast<u16>(page * kSlotsPerPage + place);
    link(object.handles, slot, &HandleSlot::by_object);
    link(stamp.stamped, slot, &HandleSlot::by_stamp);
    handle = slot.index;
    return abi::Status::ok;
}

bool room_for_handles(const Process& process, u32 count, u32& pages) {
    pages = 0;
    for (u32 page = process.first_free_page; page < kHandlePages; ++page) {
        if (process.handle_pages[page] == nullptr) {
            pages = count == 0 ? 0 : 1;  // a page has room for all that one message carries
            return true;
        }
        u32 free = static_cast<u32>(std::popcount(~process.handles_used[page]));
        if (free >= count) return true;
        count -= free;
    }
    return count == 0;
}

void copy_to_message(HandleSlot& copy, const HandleSlot& handle) {
    new (&copy) HandleSlot;
    copy.object = handle.object;
    copy.stamp = handle.stamp;
    copy.badge = handle.badge;
    link(copy.object->handles, copy, &HandleSlot::by_object);
    link(copy.stamp->stamped, copy, &HandleSlot::by_stamp);
}

void close_handle(Kernel& kernel, HandleSlot& slot) {
    u32 page = slot.index / kSlotsPerPage;
    unlink(slot.object->handles, slot, &HandleSlot::by_object);
    unlink(slot.stamp->stamped, slot, &HandleSlot::by_stamp);
    slot.object = nullptr;
    if (slot.pid == 0) return;
    Process& process = *kernel.processes[slot.pid];
    process.handles_used[page] &= ~(u64{1} << slot.index % kSlotsPerPage);
    if (page < process.first_free_page) process.first_free_page = page;
    if (process.handles_used[page] != empty_bits(page)) return;
    kernel.frames.give(kernel.port.frame_number(process.handle_pages[page]));
    process.handle_pages[page] = nullptr;
    uncharge(*process.budget, 1);
}

void close_object(Kernel& kernel, ObjectHead& object) {
    while (object.handles != nullptr)
        close_handle(kernel, *object.handles);
}

void close_stamped(Kernel& kernel, Budget& stamp) {
    while (stamp.stamped != nullptr)
        close_handle(kernel, *stamp.stamped);
}

void close_table(Kernel& kernel, Process& process) {
    u32 pages = 0;
    for (u32 page = 0; page < kHandlePages; ++page) {
        HandleSlot* slot = process.handle_pages[page];
        if (slot == nullptr) continue;
        u64 used = process.handles_used[page] & ~empty_bits(page);
        for (HandleSlot* at = slot; used != 0; used >>= 1, ++at) {
            if ((used & 1) == 0) continue;
            unlink(at->object->handles, *at, &HandleSlot::by_object);
            unlink(at->stamp->stamped, *at, &HandleSlot::by_stamp);
        }
        kernel.frames.give(kernel.port.frame_number(slot));
        process.handle_pages[page] = nullptr;
        process.handles_used[page] = empty_bits(page);
        ++pages;
    }
    process.first_free_page = 0;
    uncharge(*process.budget, pages);
}

}  // namespace ravelin
