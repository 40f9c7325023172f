// What a message carries beside its words: up to four copies of handles, and a run of pages that a
// call lends or a send gives away (R3, R4, R9).
//
// Rules: a copy keeps its stamp, and one whose object or stamp dies on the way arrives as 0. Pages on
// their way are out of everybody's reach. A message is taken whole or not at all: everything that
// could fail is checked, and the budget and the record are found good, before anything is handed over.
// Bound: four handles; the pages of the run; the search of the message area (core/memory/runs.h).
#pragma once

#include "core/abi/records.h"
#include "core/kernel.h"

namespace ravelin::ipc {

/// A body record as it was read: the handles it names exist in the sender's table.
struct Handles {
    u32 count = 0;
    HandleSlot* slots[abi::kMaxMessageHandles];
};

/// Reads the body record at `address`; with `write` it must be writable, for the reply. Errors, in
/// order: invalid_argument (the record), too_large (its count), bad_handle.
[[gnu::noinline]] abi::Status read_handles(Kernel& kernel, Hart& self, Thread& thread, Word address,
                                           bool write, Handles& handles);

// None of what follows is on the path of a message of words alone: it stays out of line.

/// Reads what registers 4 to 6 of a call or send name. Errors: too_large (a lend of more than
/// kMaxLendPages), invalid_argument (half a run), then those of read_handles, then invalid_argument
/// (the run, see check_run).
[[gnu::noinline]] abi::Status read_cargo(Kernel& kernel, Hart& self, Thread& sender, bool call,
                                         Handles& handles, PageRun& run);

/// The message carries it from now on.
[[gnu::noinline]] void load(Kernel& kernel, Hart& self, Thread& sender, const Handles& handles,
                            const PageRun& run);

/// Nobody takes the message: the copies go, and the pages are the sender's again. Says which of the
/// two there was for a call's result.
[[gnu::noinline]] abi::Lend unload(Kernel& kernel, Hart& self, Thread& sender);

/// What taking a message would do to its receiver.
struct Landing {
    Word address = 0;  ///< of the run in the message area
    u32 pages = 0;     ///< to be charged to the receiver's budget
};

/// Why a receiver cannot take a message now.
enum class Take : u8 {
    can,
    full,        ///< it has kMaxOpenCalls open: others may take it
    bad_record,  ///< its record cannot be written: the receive ends
    denied,      ///< its labels (R1)
    refused,     ///< its budget, its message area, its table or its own terms (R4)
};

/// Whether the receiver can take what the message carries and be told of it, `landing.pages` being
/// what it pays beside.
[[gnu::noinline]] Take can_land(Kernel& kernel, Hart& self, Thread& receiver, Thread& sender,
                                Landing& landing);

/// Hands it over as can_land found, with the sender's labels, and writes the receiver's record. Gives
/// what it brought, and what is lent for a call.
[[gnu::noinline]] Word land(Kernel& kernel, Hart& self, Thread& receiver, Thread& sender,
                            const Landing& landing, OpenCall* open);

/// Whether the record of a thread's receive can be written, if it named one.
[[gnu::noinline]] bool record_good(Kernel& kernel, Hart& self, Thread& receiver);

/// Writes labels alone into the record, if there is one. Gives the bit for register 2.
[[gnu::noinline]] Word tell_labels(Kernel& kernel, Hart& self, Thread& receiver,
                                   const LabelSet& labels);

/// The open call's lend goes back to its caller or, if that is gone, is freed.
[[gnu::noinline]] void give_back(Kernel& kernel, Hart& self, OpenCall& call);

/// The open call's lend is its server's until the reply. Says what became of it.
[[gnu::noinline]] abi::Lend leave_behind(Kernel& kernel, Hart& self, OpenCall& call);

/// Copies of handles into a caller's table and record, as many as fit; `mask` says which did. False:
/// the record cannot be written, and nothing was done.
[[gnu::noinline]] bool deliver_handles(Kernel& kernel, Hart& self, Thread& caller,
                                       const Handles& handles, u32& mask);

}  // namespace ravelin::ipc
