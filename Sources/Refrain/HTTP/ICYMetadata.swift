// SPDX-License-Identifier: MIT
import Foundation

/// What one block of metadata between the audio of a stream says:
/// `StreamTitle='Artist - Title';StreamUrl='http://…';`, padded with NULs. A pure value.
struct ICYMetadata: Sendable, Hashable {
  /// Empty where the block says that there is none; nil where it does not speak of it.
  var title: String?
  /// As it was given: often relative, or no URL at all. Empty and nil as above.
  var url: String?

  /// - Parameter block: without the byte that gives its length. Nonsense is taken to say nothing.
  init(_ block: some Sequence<UInt8>) {
    var rest = Self.text(Array(block))[...]
    while let equals = rest.firstRange(of: "='") {
      let name = rest[..<equals.lowerBound].trimmingCharacters(in: .whitespaces).lowercased()
      rest = rest[equals.upperBound...]
      // A quote inside of a title stands as it is: only one before a semicolon ends it.
      let end = rest.firstRange(of: "';")
      var value = rest[..<(end?.lowerBound ?? rest.endIndex)]
      // The last one may lack its semicolon.
      if end == nil, value.last == "'" { value.removeLast() }
      rest = rest[(end?.upperBound ?? rest.endIndex)...]
      switch name {
      case "streamtitle": title = title ?? Self.cleaned(value)
      case "streamurl": url = url ?? Self.cleaned(value)
      default: break
      }
    }
  }

  /// Nothing says which encoding it is: UTF-8 where it can be, else Latin-1, which anything can be.
  private static func text(_ block: [UInt8]) -> String {
    let bytes = block.prefix { $0 != 0 }
    if let text = String(validating: bytes, as: UTF8.self) { return text }
    return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
  }

  /// Without control characters: it is going to be shown, on terminals too.
  static func cleaned(_ value: some StringProtocol) -> String {
    let scalars = value.unicodeScalars.map { scalar -> Unicode.Scalar in
      scalar.properties.generalCategory == .control ? " " : scalar
    }
    return String(String.UnicodeScalarView(scalars)).trimmingCharacters(in: .whitespaces)
  }
}
