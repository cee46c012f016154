// SPDX-License-Identifier: MIT
import Foundation

/// Names of files with media, as folders contain them.
package enum MediaFiles {
  /// Whether a name has the extension of media, and is not that of a list or of a picture.
  package static func isMedia(_ name: some StringProtocol) -> Bool {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    guard let last = parts.last, parts.count > 2 || parts.count == 2 && parts[0] != "" else {
      return false
    }
    return extensions.contains(last.lowercased())
  }

  private static let extensions: Set<String> = [
    // Sound.
    "aac", "ac3", "aif", "aifc", "aiff", "alac", "amr", "ape", "au", "caf", "dsf", "dff", "dts",
    "eac3", "flac", "m4a", "m4b", "m4r", "mka", "mp2", "mp3", "mpc", "mpga", "oga", "ogg", "opus",
    "ra", "shn", "spx", "tak", "tta", "voc", "wav", "weba", "wma", "wv",
    // Video.
    "3g2", "3gp", "asf", "avi", "divx", "f4v", "flv", "m2ts", "m2v", "m4v", "mkv", "mov", "mp4",
    "mpeg", "mpg", "mts", "mxf", "ogm", "ogv", "qt", "rm", "rmvb", "ts", "vob", "webm", "wmv",
  ]

  /// Returns whether a name comes before another one as people sort them: numbers within the names
  /// count by their value, and upper case equals lower case.
  package static func isInOrder(_ first: String, _ second: String) -> Bool {
    let a = Array(first.lowercased().unicodeScalars)
    let b = Array(second.lowercased().unicodeScalars)
    var (i, j) = (0, 0)
    while i < a.count, j < b.count {
      if isDigit(a[i]), isDigit(b[j]) {
        let (m, n) = (number(in: a, at: &i), number(in: b, at: &j))
        if m.count != n.count { return m.count < n.count }
        if let (x, y) = zip(m, n).first(where: { $0 != $1 }) { return x.value < y.value }
      } else {
        if a[i] != b[j] { return a[i].value < b[j].value }
        i += 1
        j += 1
      }
    }
    if i < a.count || j < b.count { return j < b.count }
    return first < second
  }

  private static func isDigit(_ scalar: Unicode.Scalar) -> Bool {
    (0x30...0x39).contains(scalar.value)
  }

  /// Returns the digits of a number without leading zeros, and moves behind them.
  private static func number(
    in scalars: [Unicode.Scalar], at index: inout Int
  ) -> ArraySlice<Unicode.Scalar> {
    let start = index
    while index < scalars.count, isDigit(scalars[index]) { index += 1 }
    return scalars[start..<index].drop { $0 == "0" }
  }
}
