// How the machine ends; see panic.h.
#include "core/entry/panic.h"

#include <string_view>

namespace ravelin {

namespace {

void print(Kernel& kernel, Hart& self, std::string_view text) {
    kernel.port.console(self.index, {text.data(), text.size()});
}

[[noreturn]] void end(Kernel& kernel, Hart& self, ResetKind kind, u32 what) {
    kernel.trace.write(self.index, trace::TraceKind::end, 0, kernel.port.now(self.index).value,
                       kernel.trace.count(), what);
    kernel.trace.close();
    kernel.port.reset(self.index, kind);
    __builtin_unreachable();
}

}  // namespace

void power_off(Kernel& kernel, Hart& self, ResetKind kind) {
    end(kernel, self, kind, static_cast<u32>(kind));
}

void panic(Kernel& kernel, Hart& self, const char* what) {
    print(kernel, self, "ravelin: panic: ");
    print(kernel, self, what);
    print(kernel, self, "\n");
    end(kernel, self, ResetKind::off_failed, 3);
}

}  // namespace ravelin
