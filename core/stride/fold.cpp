// The arithmetic of charging: fold, reweigh and lift, with exact remainders. Invariant: no
// operation loses a unit of work but lift's and reweigh's last division, whose remainder is
// carried. Bound: constant time each.
#include "core/planted.h"
#include "core/stride/entity.h"

namespace ravelin::stride {

using planted::broken;
using planted::Rule;

void fold(Entity& entity, Ticks ticks) {
    if (entity.weight == 0) return;
    bool fits = ticks.value < kRuntimeCap || broken(Rule::runtime_cap);
    u64 counted = fits ? ticks.value : kRuntimeCap;
    u64 total = entity.remainder + counted * kStride;
    u32 weight = broken(Rule::fold_by_weight) ? 1 : entity.weight;
    entity.pass = entity.pass.plus(total / weight);
    entity.remainder = broken(Rule::remainder_kept) ? 0 : total % weight;
}

void reweigh(Entity& entity, u32 weight, U128 floor) {
    u32 from = entity.weight == 0 ? 1 : entity.weight;
    u32 to = weight == 0 ? 1 : weight;
    bool converts = !broken(to < from ? Rule::lead_follows_carve : Rule::lead_follows_return);
    if (!converts) to = from;
    U128 owed = entity.pass.minus(floor).times(from).plus(entity.remainder);
    U128::Divided share = owed.divided(to);
    if (entity.pass >= floor || !broken(Rule::below_owes_nothing))
        entity.pass = floor.plus(share.quotient);
    entity.remainder = share.remainder;
    entity.weight = weight;
}

U128 lift(const Entity& child, Entity& parent, U128 floor) {
    U128 from = child.entry > floor ? child.entry : floor;
    if (broken(Rule::lift_from_entry)) from = floor;
    U128 work = child.pass.minus(from)
                    .times(broken(Rule::lift_by_weights) ? parent.weight : child.weight)
                    .plus(child.remainder);
    if (parent.weight == 0) return work;
    U128 base = parent.pass;
    U128 total = work;
    if (base < floor && !broken(Rule::lift_from_floor)) {
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
