// The largest lease there is, destroyed: thousands of handles and endpoints, hundreds of threads in calls and
// sleeps, and calls taken by the launcher, which is their server. The launcher takes the time of its call, with
// nothing else to run, beside that of an ordinary lease.

#include "user/rt/program.h"
#include "user/workload/filler.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::Micros;
using rt::u32;
using workload::Child;
using workload::Launcher;

constexpr Micros kMostFull{5'000};
constexpr Micros kMostOrdinary{500};
constexpr u32 kOrdinaryPages = 64;

// What an ordinary lease does: some memory, an endpoint, a sleeping thread.
void ordinary(Child& child) {
    static_cast<void>(
        child.must(rt::map_anon(kOrdinaryPages / 2 * rt::kPageSize, abi::kRead | abi::kWrite)));
    const rt::Endpoint endpoint = child.must(rt::endpoint_create());
    child.report(endpoint.index());
    rt::sleep(rt::kForever);
}

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Budget small = launcher.budget(launcher.users(), 100, 2, 1, kOrdinaryPages);
    launcher.start<ordinary>(small);
    launcher.collect();
    rt::sleep(rt::milliseconds(50));
    const rt::Ticks begin = rt::clock();
    launcher.destroy(small);
    launcher.expect(launcher.rate().micros_of(rt::clock() - begin) <= kMostOrdinary);
    launcher.reset_children();
    launcher.expect(workload::destroy_full_lease(launcher) <= kMostFull);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
