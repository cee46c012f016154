// SPDX-License-Identifier: MIT
#if os(Linux)
  import CMPV
  import Glibc

  /// Calls `body` with the words as a NULL-terminated array of C strings.
  func withArguments(
    _ words: [String], _ body: (UnsafeMutablePointer<UnsafePointer<CChar>?>) -> CInt
  ) -> CInt {
    let copies = words.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    var arguments = copies.map { UnsafePointer($0) } + [nil]
    return arguments.withUnsafeMutableBufferPointer { buffer in
      guard let base = buffer.baseAddress else { return MPV_ERROR_NOMEM.rawValue }
      return body(base)
    }
  }

  extension mpv_node {
    /// Returns the integer `name` of a map; nil if this is no map or has no such integer.
    func integer(named name: String) -> Int64? {
      guard format == MPV_FORMAT_NODE_MAP, let list = u.list, let keys = list.pointee.keys,
        let values = list.pointee.values
      else { return nil }
      for index in 0..<Int(list.pointee.num) {
        guard let key = keys[index], String(cString: key) == name else { continue }
        let value = values[index]
        return value.format == MPV_FORMAT_INT64 ? value.u.int64 : nil
      }
      return nil
    }
  }
#endif
