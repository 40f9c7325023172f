// The faults of core/planted.h by name, for the tests that plant them.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "core/planted.h"

namespace ravelin::planted {

inline constexpr std::array kRowNames = {
    std::string_view("none"),       std::string_view("user"),
    std::string_view("call"),       std::string_view("call_destruction"),
    std::string_view("fault"),      std::string_view("timeout"),
    std::string_view("stale"),      std::string_view("deadline"),
    std::string_view("rest"),       std::string_view("slice_end"),
    std::string_view("nothing"),    std::string_view("kick"),
    std::string_view("lock_wait"),  std::string_view("idle_wait"),
    std::string_view("pick"),       std::string_view("no_pick"),
    std::string_view("idle"),       std::string_view("interrupt"),
    std::string_view("lost_claim"), std::string_view("zeroing"),
    std::string_view("shootdown"),
};
static_assert(kRowNames.size() == static_cast<std::size_t>(Row::count));

inline constexpr std::array kRuleNames = {
    std::string_view("none"),
    std::string_view("fold_by_weight"),
    std::string_view("remainder_kept"),
    std::string_view("runtime_cap"),
    std::string_view("least_charge"),
    std::string_view("lead_follows_carve"),
    std::string_view("lead_follows_return"),
    std::string_view("below_owes_nothing"),
    std::string_view("lift_from_entry"),
    std::string_view("lift_by_weights"),
    std::string_view("lift_from_floor"),
    std::string_view("wake_floor"),
    std::string_view("wakers_first"),
    std::string_view("later_wakers_first"),
    std::string_view("requeued_last"),
    std::string_view("requeued_in_order"),
    std::string_view("ties_start_anew"),
    std::string_view("lowest_first"),
    std::string_view("floor_only_rises"),
    std::string_view("floor_without_capped"),
    std::string_view("floor_of_all_capped"),
    std::string_view("floor_without_threads"),
    std::string_view("floor_of_threadless"),
    std::string_view("leave_raises"),
    std::string_view("cap_is_strict"),
    std::string_view("cap_goes_on"),
    std::string_view("cap_takes_out"),
    std::string_view("cap_stays_tested"),
    std::string_view("cap_ends_with_queue"),
    std::string_view("uncap_lifts"),
    std::string_view("uncap_keeps_lag"),
    std::string_view("lag_behind_raise"),
    std::string_view("lag_is_bounded"),
    std::string_view("stop_is_change"),
    std::string_view("sum_follows_weight"),
    std::string_view("deschedule_least"),
    std::string_view("child_from_parent"),
    std::string_view("child_from_floor"),
    std::string_view("parent_charged_first"),
    std::string_view("fold_before_reweigh"),
    std::string_view("charged_while_running"),
    std::string_view("charge_raises"),
    std::string_view("wakes_by_id"),
    std::string_view("destruction_raises"),
    std::string_view("dying_charged"),
    std::string_view("dying_lifted"),
    std::string_view("weight_returns_first"),
    std::string_view("turns_go_round"),
    std::string_view("wake_keeps_runner"),
    std::string_view("deadline_preempts"),
    std::string_view("slice_from_return"),
    std::string_view("idle_is_kicked"),
};
static_assert(kRuleNames.size() == static_cast<std::size_t>(Rule::count));

/// The place of `name` among `names`; nothing if it is not there.
template <std::size_t Count>
constexpr std::optional<std::size_t> place_of(const std::array<std::string_view, Count>& names,
                                              std::string_view name) {
    for (std::size_t place = 0; place < Count; ++place) {
        if (names[place] == name) return place;
    }
    return std::nullopt;
}

}  // namespace ravelin::planted
