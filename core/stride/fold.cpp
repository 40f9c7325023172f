// The arithmetic of charging: fold, reweigh and lift, with exact remainders. Invariant: no
// operation loses a unit of work but lift's and reweigh's last division, whose remainder is
// carried. Bound: constant time each.
#include "core/stride/entity.h"

namespace ravelin::stride {

void fold(Entity& entity, Ticks ticks) {
    if (entity.weight == 0) return;
    u64 counted = ticks.value < kRuntimeCap ? ticks.value : kRuntimeCap;
    u64 total = entity.remainder + counted * kStride;
    entity.pass = entity.pass.plus(total / entity.weight);
    entity.remainder = total % entity.weight;
}

void reweigh(Entity& entity, u32 weight, U128 floor) {
    u32 from = entity.weight == 0 ? 1 : entity.weight;
    u32 to = weight == 0 ? 1 : weight;
    U128 owed = entity.pass.minus(floor).times(from).plus(entity.remainder);
    U128::Divided share = owed.divided(to);
    entity.pass = floor.plus(share.quotient);
    entity.remainder = share.remainder;
    entity.weight = weight;
}

U128 lift(const Entity& child, Entity& parent, U128 floor) {
    U128 from = child.entry > floor ? child.entry : floor;
    U128 work = child.pass.minus(from).times(child.weight).plus(child.remainder);
    if (parent.weight == 0) return work;
    U128 base = parent.pass;
    U128 total = work;
    if (base < floor) {
        base = floor;
    } else {
        total = total.plus(parent.remainder);
    }
    U128::Divided share = total.divided(parent.weight);
    parent.pass = base.plus(share.quotient);
    parent.remainder = share.remainder;
    return work;
}

}  // namespace ravelin::stride
