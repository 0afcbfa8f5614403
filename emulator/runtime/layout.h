// The layout of the argument struct of a kernel: LAYOUT(Struct, member, ...) of kernels/compat.cuh, evaluated by the compiler.
#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace emulator {

// A member that is not a struct; the member of a member is named outer.inner.
struct Field {
    std::string name;
    const char* kind;  // f32 and so on; *const f32 and *mut f32 for an address
    size_t offset, bytes;
    bool pointer() const { return *kind == '*'; }
};

// The members that LAYOUT lists for a struct; undefined without LAYOUT.
template <class Struct>
struct Layout;

template <class T>
constexpr const char* kind() {
    if constexpr (std::is_same_v<T, float>) return "f32";
    else if constexpr (std::is_same_v<T, double>) return "f64";
    else if constexpr (std::is_same_v<T, int32_t>) return "i32";
    else if constexpr (std::is_same_v<T, uint32_t>) return "u32";
    else if constexpr (std::is_same_v<T, uint64_t>) return "u64";
    else if constexpr (std::is_same_v<T, const float*>) return "*const f32";
    else if constexpr (std::is_same_v<T, const double*>) return "*const f64";
    else if constexpr (std::is_same_v<T, const int32_t*>) return "*const i32";
    else if constexpr (std::is_same_v<T, const uint32_t*>) return "*const u32";
    else if constexpr (std::is_same_v<T, const uint64_t*>) return "*const u64";
    else if constexpr (std::is_same_v<T, float*>) return "*mut f32";
    else if constexpr (std::is_same_v<T, double*>) return "*mut f64";
    else if constexpr (std::is_same_v<T, int32_t*>) return "*mut i32";
    else if constexpr (std::is_same_v<T, uint32_t*>) return "*mut u32";
    else if constexpr (std::is_same_v<T, uint64_t*>) return "*mut u64";
    else static_assert(!sizeof(T), "a kernel takes numbers and addresses of numbers");
}

template <class T>
void add_field(std::vector<Field>& to, const std::string& name, size_t offset) {
    if constexpr (std::is_class_v<T>) {
        Layout<T>::list(to, name + ".", offset);
    } else {
        to.push_back({name, kind<T>(), offset, sizeof(T)});
    }
}

// Number of members of a struct: the largest number of values with which it can be initialised.
struct Anything {
    template <class T>
    operator T() const;
};
template <class T, size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
    return requires { T{(static_cast<void>(I), Anything{})...}; };
}
template <class T, size_t N = 0>
constexpr size_t members() {
    if constexpr (takes<T>(std::make_index_sequence<N + 1>{})) return members<T, N + 1>();
    else return N;
}

}  // namespace emulator

// apply(first, a) apply(first, b) ..., for up to about sixty arguments.
#define LAYOUT_EACH(apply, first, ...) __VA_OPT__(LAYOUT_SCAN(LAYOUT_ONE(apply, first, __VA_ARGS__)))
#define LAYOUT_ONE(apply, first, name, ...) apply(first, name) __VA_OPT__(LAYOUT_MORE LAYOUT_NONE (apply, first, __VA_ARGS__))
#define LAYOUT_MORE() LAYOUT_ONE
#define LAYOUT_NONE ()
#define LAYOUT_SCAN(...) LAYOUT_SCAN_16(LAYOUT_SCAN_16(LAYOUT_SCAN_16(LAYOUT_SCAN_16(__VA_ARGS__))))
#define LAYOUT_SCAN_16(...) LAYOUT_SCAN_4(LAYOUT_SCAN_4(LAYOUT_SCAN_4(LAYOUT_SCAN_4(__VA_ARGS__))))
#define LAYOUT_SCAN_4(...) LAYOUT_SCAN_1(LAYOUT_SCAN_1(LAYOUT_SCAN_1(LAYOUT_SCAN_1(__VA_ARGS__))))
#define LAYOUT_SCAN_1(...) __VA_ARGS__

#define LAYOUT_FIELD(Struct, name) \
    emulator::add_field<decltype(Struct::name)>(to, prefix + #name, base + offsetof(Struct, name));
#define LAYOUT_NAME(Struct, name) #name,
#define LAYOUT(Struct, ...)                                                                           \
    template <>                                                                                       \
    struct emulator::Layout<Struct> {                                                                 \
        static constexpr const char* name = #Struct;                                                  \
        static void list(std::vector<Field>& to, const std::string& prefix, size_t base) {            \
            LAYOUT_EACH(LAYOUT_FIELD, Struct, __VA_ARGS__)                                            \
        }                                                                                             \
        static constexpr const char* names[] = {LAYOUT_EACH(LAYOUT_NAME, Struct, __VA_ARGS__)};       \
    };                                                                                                \
    static_assert(std::size(emulator::Layout<Struct>::names) == emulator::members<Struct>(),          \
                  "LAYOUT names all members of " #Struct);
