// Reading a flattened device tree: tokens, names, properties, and the check of the whole.

#include "port-riscv/fdt/tree.h"

namespace ravelin::fdt {

namespace {

constexpr std::uint32_t kMagic = 0xD00DFEED;
constexpr std::uint32_t kVersion = 17;
constexpr std::uint32_t kHeaderBytes = 40;

/// The big-endian 32-bit number at `offset`, or 0 if it is not all there.
std::uint32_t word_at(Bytes bytes, std::size_t offset) noexcept {
    if (offset > bytes.size() || bytes.size() - offset < 4) return 0;
    return std::uint32_t{bytes[offset]} << 24 | std::uint32_t{bytes[offset + 1]} << 16 |
           std::uint32_t{bytes[offset + 2]} << 8 | std::uint32_t{bytes[offset + 3]};
}

bool has(Bytes bytes, std::size_t offset, std::size_t count) noexcept {
    return offset <= bytes.size() && bytes.size() - offset >= count;
}

/// The string at `offset`; nothing if no NUL ends it within the bytes.
std::optional<std::string_view> string_at(Bytes bytes, std::size_t offset) noexcept {
    for (std::size_t end = offset; end < bytes.size(); ++end) {
        if (bytes[end] == 0) {
            return std::string_view{reinterpret_cast<const char*>(bytes.data()) + offset,
                                    end - offset};
        }
    }
    return {};
}

/// The next multiple of 4. The structure block is smaller than 2^31 bytes, so nothing wraps.
constexpr std::uint32_t align(std::size_t offset) noexcept {
    return static_cast<std::uint32_t>((offset + 3) & ~std::size_t{3});
}

}  // namespace

const char* describe(Status status) noexcept {
    switch (status) {
    case Status::ok: return "the device tree is good";
    case Status::truncated: return "the device tree is cut short";
    case Status::bad_magic: return "there is no device tree where one should be";
    case Status::bad_version: return "the device tree is of a version we cannot read";
    case Status::bad_layout: return "a block of the device tree lies outside it";
    case Status::bad_structure: return "the device tree's nodes are not properly nested";
    case Status::bad_string: return "a name in the device tree does not end";
    case Status::too_deep: return "the device tree is nested too deep";
    case Status::bad_cells: return "the device tree has addresses of a size we cannot read";
    case Status::bad_property: return "a property in the device tree has the wrong size";
    case Status::bad_range: return "a range of memory in the device tree wraps around";
    case Status::too_many: return "the device tree lists more than we have room for";
    case Status::no_memory: return "the device tree names no memory";
    case Status::no_harts: return "the device tree names no hart that can run us";
    case Status::no_timebase: return "the device tree has no timebase-frequency";
    case Status::bad_timebase: return "the device tree has harts with different timebases";
    case Status::bad_controller: return "the interrupt controller has an impossible source count";
    }
    return "unknown status";
}

std::uint32_t Property::cell(std::size_t index) const noexcept {
    return index < cells() ? word_at(value, index * 4) : 0;
}

std::optional<std::uint64_t> Property::number(std::size_t index, std::size_t count) const noexcept {
    if (index > cells() || cells() - index < count) return {};
    if (count == 1) return cell(index);
    if (count == 2) return std::uint64_t{cell(index)} << 32 | cell(index + 1);
    return {};
}

std::string_view Property::text() const noexcept {
    const auto ended = string_at(value, 0);
    if (ended) return *ended;
    return {reinterpret_cast<const char*>(value.data()), value.size()};
}

bool Property::has_text(std::string_view word) const noexcept {
    Property rest = *this;
    while (!rest.value.empty()) {
        const auto here = string_at(rest.value, 0);
        if (!here) return false;
        if (*here == word) return true;
        rest.value = rest.value.subspan(here->size() + 1);
    }
    return false;
}

std::optional<std::uint32_t> Tree::size_from_header(Bytes start) noexcept {
    if (start.size() < 8 || word_at(start, 0) != kMagic) return {};
    return word_at(start, 4);
}

Status Tree::open(Bytes memory) noexcept {
    Status status = check_header(memory);
    if (status == Status::ok) status = check_structure();
    if (status != Status::ok) *this = Tree{};
    return status;
}

Status Tree::check_header(Bytes memory) noexcept {
    if (memory.size() < kHeaderBytes) return Status::truncated;
    if (word_at(memory, 0) != kMagic) return Status::bad_magic;
    const std::uint32_t total = word_at(memory, 4);
    if (word_at(memory, 20) < kVersion || word_at(memory, 24) > kVersion) {
        return Status::bad_version;
    }
    if (total < kHeaderBytes || total > memory.size()) return Status::truncated;
    // Offsets and sizes are added up in 32 bits from here on.
    if (total > 0x7FFFFFFF) return Status::bad_layout;
    blob_ = memory.first(total);

    const std::uint32_t structure = word_at(memory, 8);
    const std::uint32_t strings = word_at(memory, 12);
    reservations_ = word_at(memory, 16);
    const std::uint32_t strings_bytes = word_at(memory, 32);
    const std::uint32_t structure_bytes = word_at(memory, 36);
    if (structure < kHeaderBytes || structure % 4 != 0 || strings < kHeaderBytes ||
        reservations_ < kHeaderBytes || reservations_ % 8 != 0 ||
        !has(blob_, structure, structure_bytes) || !has(blob_, strings, strings_bytes)) {
        return Status::bad_layout;
    }
    structure_ = blob_.subspan(structure, structure_bytes);
    strings_ = blob_.subspan(strings, strings_bytes);

    for (std::size_t at = reservations_;; at += 16) {
        if (!has(blob_, at, 16)) return Status::truncated;
        if (word_at(blob_, at + 8) == 0 && word_at(blob_, at + 12) == 0) return Status::ok;
    }
}

Status Tree::check_structure() noexcept {
    std::uint32_t depth = 0;
    bool rooted = false;
    // Properties come before a node's children: after an end token only nodes may follow.
    bool properties_over = true;
    Token token;
    for (std::uint32_t at = 0;; at = token.next) {
        const Status status = read_token(at, token);
        if (status != Status::ok) return status;
        switch (token.kind) {
        case kBegin:
            if (depth == 0) {
                if (rooted || !token.name.empty()) return Status::bad_structure;
                rooted = true;
                root_ = Node{at};
            }
            if (++depth > kMaxDepth) return Status::too_deep;
            properties_over = false;
            break;
        case kEnd:
            if (depth-- == 0) return Status::bad_structure;
            properties_over = true;
            break;
        case kProperty:
            if (properties_over) return Status::bad_structure;
            break;
        case kFinish: return depth == 0 && rooted ? Status::ok : Status::bad_structure;
        default:
            // Nothing but the end stands behind the root's.
            if (depth == 0 && rooted) return Status::bad_structure;
            break;
        }
    }
}

Status Tree::read_token(std::uint32_t at, Token& token) const noexcept {
    if (!has(structure_, at, 4)) return Status::truncated;
    token.kind = word_at(structure_, at);
    token.name = {};
    token.value = {};
    switch (token.kind) {
    case kBegin: {
        const auto name = string_at(structure_, at + 4);
        if (!name) return Status::bad_string;
        token.name = *name;
        token.next = align(at + 4 + name->size() + 1);
        return Status::ok;
    }
    case kProperty: {
        if (!has(structure_, at, 12)) return Status::truncated;
        const std::uint32_t bytes = word_at(structure_, at + 4);
        if (!has(structure_, at + 12, bytes)) return Status::truncated;
        const auto name = string_at(strings_, word_at(structure_, at + 8));
        if (!name) return Status::bad_string;
        token.name = *name;
        token.value = structure_.subspan(at + 12, bytes);
        token.next = align(at + 12 + bytes);
        return Status::ok;
    }
    case kEnd:
    case kNop:
    case kFinish: token.next = at + 4; return Status::ok;
    default: return Status::bad_structure;
    }
}

std::uint32_t Tree::after_name(Node node) const noexcept {
    Token token;
    // An empty tree ends at once.
    if (read_token(node.offset, token) != Status::ok) return node.offset;
    return token.next;
}

bool Tree::next_property(std::uint32_t at, Token& token) const noexcept {
    while (read_token(at, token) == Status::ok && token.kind == kNop) {
        at = token.next;
    }
    return has(structure_, at, 4) && token.kind == kProperty;
}

std::optional<Node> Tree::node_from(std::uint32_t at) const noexcept {
    Token token;
    while (read_token(at, token) == Status::ok) {
        if (token.kind == kBegin) return Node{at};
        if (token.kind != kProperty && token.kind != kNop) return {};
        at = token.next;
    }
    return {};
}

std::string_view Tree::name(Node node) const noexcept {
    Token token;
    if (read_token(node.offset, token) != Status::ok) return {};
    return token.name;
}

std::optional<Node> Tree::first_child(Node node) const noexcept {
    return node_from(after_name(node));
}

std::optional<Node> Tree::next_sibling(Node node) const noexcept {
    std::uint32_t depth = 0;
    Token token;
    for (std::uint32_t at = node.offset; read_token(at, token) == Status::ok; at = token.next) {
        if (token.kind == kBegin) {
            ++depth;
        } else if (token.kind == kEnd) {
            if (--depth == 0) return node_from(token.next);
        } else if (token.kind == kFinish) {
            return {};
        }
    }
    return {};
}

std::optional<Property> Tree::property(Node node, std::string_view name) const noexcept {
    Token token;
    for (std::uint32_t at = after_name(node); next_property(at, token); at = token.next) {
        if (token.name == name) return Property{token.name, token.value};
    }
    return {};
}

std::optional<Node> Tree::find(std::string_view path) const noexcept {
    if (path.empty() || path[0] != '/') return {};
    Node here = root_;
    while (!path.empty()) {
        path.remove_prefix(1);
        const std::string_view part = path.substr(0, path.find('/'));
        path.remove_prefix(part.size());
        if (part.empty()) continue;
        std::optional<Node> child = first_child(here);
        for (; child; child = next_sibling(*child)) {
            const std::string_view full = name(*child);
            if (full == part || full.substr(0, full.find('@')) == part) break;
        }
        if (!child) return {};
        here = *child;
    }
    return here;
}

std::optional<Tree::Reservation> Tree::reservation(std::size_t index) const noexcept {
    if (blob_.empty() || index >= blob_.size() / 16) return {};
    const std::size_t at = reservations_ + index * 16;
    if (!has(blob_, at, 16)) return {};
    const Property entry{{}, blob_.subspan(at, 16)};
    const Reservation found{*entry.number(0, 2), *entry.number(2, 2)};
    if (found.size == 0) return {};
    return found;
}

}  // namespace ravelin::fdt
