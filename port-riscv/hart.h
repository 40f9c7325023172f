// What one hart of the machine has: its block, which lies at the top of its kernel stack and which
// trap.S finds through sscratch, and the stack itself with a guard page below.
#pragma once

#include <atomic>
#include <cstddef>

#include "core/types.h"
#include "port-riscv/context.h"
#include "port-riscv/layout.h"

namespace ravelin {
class Port;
struct Kernel;
}  // namespace ravelin

namespace ravelin::riscv {

/// HartBlock::alive of a hart that has come, and of one that nobody waits for any more.
inline constexpr u32 kHartAlive = 1, kHartGivenUp = 2;

/// HartBlock::id of a block that no hart has.
inline constexpr Word kNoHart = ~Word{0};

// Aligned to its size, which is therefore what trap.S counts on whatever it holds.
struct alignas(BLOCK_WORDS * sizeof(Word)) HartBlock {
    // Known to the assembly files.
    Context* context;    ///< the one it runs or ran last
    Word spill;          ///< a register, while the context is looked up
    Word scratch;        ///< target of the store that breaks reservations
    Word id;             ///< hardware hart id, or kNoHart
    Word registers[32];  ///< of the kernel when it faulted; [0] is the pc

    HartIndex index;
    std::atomic<u32> alive;  ///< a started hart has reached C++
    Kernel* kernel;
    u64 timer;          ///< what the firmware's timer is set to, without Sstc
    u32 plic_context;   ///< its S-mode context at the interrupt controller
    u32 code_seen;      ///< Port's count of code changes when it last fetched afresh
    u32 faulted;        ///< it is in the panic page
    u32 claims;         ///< counted in checked builds: device interrupts taken,
    u32 lost_claims;    ///< those that another hart had taken,
    u32 skipped_halts;  ///< and halts that found a kick pending
};
static_assert(sizeof(HartBlock) == BLOCK_WORDS * sizeof(Word));
static_assert(offsetof(HartBlock, context) == BLOCK_CONTEXT * sizeof(Word));
static_assert(offsetof(HartBlock, spill) == BLOCK_SPILL * sizeof(Word));
static_assert(offsetof(HartBlock, scratch) == BLOCK_SCRATCH * sizeof(Word));
static_assert(offsetof(HartBlock, id) == BLOCK_ID * sizeof(Word));
static_assert(offsetof(HartBlock, registers) == BLOCK_REGISTERS * sizeof(Word));
static_assert(offsetof(Context, x) == CONTEXT_PC * sizeof(Word));

struct alignas(LAYOUT_PAGE) HartStack {
    std::byte guard[LAYOUT_GUARD_BYTES];
    std::byte stack[(1 << LAYOUT_STACK_SHIFT) - sizeof(HartBlock)];
    HartBlock block;
};

}  // namespace ravelin::riscv

static_assert(sizeof(ravelin::riscv::HartStack) == LAYOUT_GUARD_BYTES + (1 << LAYOUT_STACK_SHIFT));
static_assert(ravelin::kMaxHarts == LAYOUT_HARTS);

/// By hart index. Not cleared at boot: every block's id is set before any hart is started,
/// and the rest of it where a hart has it.
extern "C" ravelin::riscv::HartStack ravelin_stacks[ravelin::kMaxHarts];
