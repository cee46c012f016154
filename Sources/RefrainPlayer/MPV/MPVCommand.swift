// SPDX-License-Identifier: MIT
#if os(Linux)
  import CMPV
  import Glibc

  /// A command to libmpv with named arguments: their order differs between versions of libmpv
  /// (`loadfile` has taken an index before its options since 0.38).
  struct MPVCommand {
    enum Argument {
      case text(String)
      case map([(name: String, value: String)])
    }

    var name: String
    var arguments: [(name: String, value: Argument)]

    /// Returns the command that plays a file in place of everything else (`replace`), or after it
    /// (`append`).
    ///
    /// - Parameters:
    ///   - start: the position at which this file begins.
    ///   - options: further options. None of them affects other files.
    static func loadFile(
      _ address: String, _ how: String, start: Duration,
      options: [(name: String, value: String)] = []
    ) -> MPVCommand {
      var command = MPVCommand(
        name: "loadfile", arguments: [("url", .text(address)), ("flags", .text(how))])
      let options = options + (start > .zero ? [("start", startText(start))] : [])
      if !options.isEmpty { command.arguments.append(("options", .map(options))) }
      return command
    }

    /// Returns a position as a value of the option `start`.
    static func startText(_ position: Duration) -> String {
      position > .zero ? "\(position.inSeconds)" : "none"
    }

    /// Calls `body` with the command as a node, which is valid until `body` returns.
    func withNode(_ body: (UnsafeMutablePointer<mpv_node>) -> CInt) -> CInt {
      var memory = NodeMemory()
      defer { memory.free() }
      let pairs = arguments.map { name, value -> (String, mpv_node) in
        switch value {
        case .text(let text): (name, memory.text(text))
        case .map(let map): (name, memory.map(map.map { ($0.name, memory.text($0.value)) }))
        }
      }
      var node = memory.map([("name", memory.text(self.name))] + pairs)
      return body(&node)
    }
  }

  /// Allocates and frees the memory of nodes.
  private struct NodeMemory {
    private var strings: [UnsafeMutablePointer<CChar>?] = []
    private var lists: [UnsafeMutablePointer<mpv_node_list>] = []

    mutating func text(_ text: String) -> mpv_node {
      mpv_node(u: .init(string: copy(text)), format: MPV_FORMAT_STRING)
    }

    mutating func map(_ pairs: [(String, mpv_node)]) -> mpv_node {
      let keys = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: pairs.count)
      let values = UnsafeMutablePointer<mpv_node>.allocate(capacity: pairs.count)
      for (index, (key, value)) in pairs.enumerated() {
        (keys + index).initialize(to: copy(key))
        (values + index).initialize(to: value)
      }
      let list = UnsafeMutablePointer<mpv_node_list>.allocate(capacity: 1)
      list.initialize(to: mpv_node_list(num: CInt(pairs.count), values: values, keys: keys))
      lists.append(list)
      return mpv_node(u: .init(list: list), format: MPV_FORMAT_NODE_MAP)
    }

    private mutating func copy(_ text: String) -> UnsafeMutablePointer<CChar>? {
      let copy = strdup(text)
      strings.append(copy)
      return copy
    }

    func free() {
      for list in lists {
        list.pointee.keys?.deallocate()
        list.pointee.values?.deallocate()
        list.deallocate()
      }
      for string in strings { Glibc.free(string) }
    }
  }
#endif
