// A flattened device tree (version 17), read in place.
//
// Rule: the tree is not trusted. Every access is by bytes and checked against the tree's own bounds
// and those of the memory it was found in, so that it may lie at any alignment and say anything;
// what is wrong becomes a Status. open() walks the whole tree once; what it has accepted is sound
// for every function here as long as the bytes do not change (copy the tree first if they may).
// Allocates nothing, keeps no state, names no type of the kernel.
// Bound: open() reads each byte of the structure block once; looking up a property reads the
// properties of its node; finding a node by path reads the structure block up to it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ravelin::fdt {

/// What is wrong with a tree, or with the board it describes.
enum class Status : std::uint8_t {
    ok,
    truncated,       ///< the memory, or the tree's own size, ends before its contents do
    bad_magic,       ///< not a device tree
    bad_version,     ///< not readable as version 17
    bad_layout,      ///< a block lies outside the tree or is misaligned in it
    bad_structure,   ///< the structure block is not one properly nested root node
    bad_string,      ///< a name does not end within its block
    too_deep,        ///< nodes nested deeper than kMaxDepth
    bad_cells,       ///< #address-cells or #size-cells that an address cannot have
    bad_property,    ///< a property has the wrong size for what it is
    bad_range,       ///< a range of memory wraps around
    too_many,        ///< more of something than the facts have room for
    no_memory,       ///< no usable memory
    no_harts,        ///< no hart that can run a kernel with paging
    no_timebase,     ///< no timebase-frequency, or it is 0
    bad_timebase,    ///< harts that count time at different rates
    bad_controller,  ///< an interrupt controller with no source or more than it can have
};

/// One line for a person: what the status means.
const char* describe(Status status) noexcept;

using Bytes = std::span<const std::uint8_t>;

/// Nodes deeper than this are refused: boards stay below 10.
inline constexpr std::uint32_t kMaxDepth = 32;

/// A property's value. Views into the tree.
struct Property {
    std::string_view name;
    Bytes value;

    /// How many whole 32-bit cells the value has.
    std::size_t cells() const noexcept { return value.size() / 4; }
    /// Cell `index`, or 0 beyond the end.
    std::uint32_t cell(std::size_t index) const noexcept;
    /// `count` (1 or 2) cells from `index` on as one number, most significant first; nothing if the
    /// value ends before or the count is another.
    std::optional<std::uint64_t> number(std::size_t index, std::size_t count) const noexcept;
    /// The first string of the value, up to its NUL or to the end of the value.
    std::string_view text() const noexcept;
    /// Whether `word` is one of the value's NUL-separated strings.
    bool has_text(std::string_view word) const noexcept;
};

/// A node, by the place of its begin token in the structure block.
struct Node {
    std::uint32_t offset = 0;
    friend bool operator==(Node, Node) = default;
};

class Tree {
  public:
    /// How many bytes a tree says it has, from its first 8 bytes; nothing if they are not a tree's.
    static std::optional<std::uint32_t> size_from_header(Bytes start) noexcept;

    /// Checks the whole tree at the start of `memory`. On ok the tree is ready; else it is empty.
    Status open(Bytes memory) noexcept;

    /// The whole tree, as long as its header says.
    Bytes bytes() const noexcept { return blob_; }

    Node root() const noexcept { return root_; }
    std::string_view name(Node node) const noexcept;
    std::optional<Node> first_child(Node node) const noexcept;
    std::optional<Node> next_sibling(Node node) const noexcept;

    /// The property of a node by name.
    std::optional<Property> property(Node node, std::string_view name) const noexcept;
    /// Calls `visit` with each property of a node, in order.
    template <class Visit>
    void for_each_property(Node node, Visit visit) const {
        Token token;
        for (std::uint32_t at = after_name(node); next_property(at, token); at = token.next) {
            visit(Property{token.name, token.value});
        }
    }

    /// The node at a full path ("/soc/serial@10000000"). Unit addresses may be left out.
    std::optional<Node> find(std::string_view path) const noexcept;

    struct Reservation {
        std::uint64_t base;
        std::uint64_t size;
    };
    /// Entry `index` of the memory reservation block; nothing from its end on.
    std::optional<Reservation> reservation(std::size_t index) const noexcept;

    /// Calls `visit(depth, node)` with each node, parents first; the root has depth 0.
    template <class Visit>
    void walk(Visit visit) const {
        std::uint32_t depth = 0;
        Token token;
        for (std::uint32_t at = root_.offset; read_token(at, token) == Status::ok;
             at = token.next) {
            if (token.kind == kBegin) {
                visit(depth++, Node{at});
            } else if (token.kind == kEnd) {
                --depth;
            } else if (token.kind == kFinish) {
                return;
            }
        }
    }

  private:
    static constexpr std::uint32_t kBegin = 1, kEnd = 2, kProperty = 3, kNop = 4, kFinish = 9;

    struct Token {
        std::uint32_t kind = kFinish;
        std::uint32_t next = 0;  ///< where the token after it starts
        std::string_view name;   ///< of a node or a property
        Bytes value;             ///< of a property
    };

    Status check_header(Bytes memory) noexcept;
    Status check_structure() noexcept;
    Status read_token(std::uint32_t at, Token& token) const noexcept;
    std::uint32_t after_name(Node node) const noexcept;
    /// The first property at `at` or after NOPs from there; false at anything else.
    bool next_property(std::uint32_t at, Token& token) const noexcept;
    /// The node that begins at `at`, after properties and NOPs; nothing if the parent ends first.
    std::optional<Node> node_from(std::uint32_t at) const noexcept;

    Bytes blob_;
    Bytes structure_;
    Bytes strings_;
    std::uint32_t reservations_ = 0;  ///< offset in blob_
    Node root_;
};

}  // namespace ravelin::fdt
