// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// Decides how the references of one manifest are rewritten.
///
/// A reference is split in two: its beginning decides, and the rest is the same for every reader of
/// URIs. So one decision serves all segments of a directory, or of a host.
struct ReferenceRewriting {
  /// The outcome for one reference.
  struct Outcome {
    /// The bytes that take the place of the first `replacedCount` ones; nil: nothing changes.
    var replacement: [UInt8]?
    var replacedCount = 0
    /// The hash of the absolute form (`StreamParts.hash`); nil if it is no http or https URL.
    var absoluteHash: UInt64?
  }

  /// What is decided about a whole reference, or about the beginning of many.
  private enum Decision {
    /// `nothing` takes the place of the whole reference.
    case invalid
    /// The replacement of the text, nil to leave it; and the hash of its absolute form.
    case valid(replacement: [UInt8]?, absoluteHash: UInt64?)
  }

  /// The URL of the manifest after redirects.
  private let url: URL
  /// The manifest's URL for the client.
  private let clientURL: URL?
  private let keepsPaths: Bool
  private let target: (URL) -> String?
  /// The decisions by the beginnings.
  private var decisions: [ArraySlice<UInt8>: Decision] = [:]
  private var last: (beginning: ArraySlice<UInt8>, decision: Decision)?
  private var decisionsLeft: Int
  /// Whether names relative to the manifest stay as they are.
  private lazy var leavesNames =
    URL(text: "x", relativeTo: url).map { replacement(of: "x", $0) == nil } ?? true

  /// A name that no reference has.
  private static let client = "client.invalid"
  /// Takes the place of a reference that no client must follow: an URL that leads nowhere.
  static let nothing = Array("about:invalid".utf8)

  /// - Parameter mostDecisions: each takes some ten microseconds.
  init(
    url: URL, clientTarget: String, keepsPaths: Bool, mostDecisions: Int = 32_768,
    target: @escaping (URL) -> String?
  ) {
    decisionsLeft = mostDecisions
    self.url = url
    clientURL = URL(text: "http://\(Self.client)\(clientTarget)")
    self.keepsPaths = keepsPaths
    self.target = target
  }

  /// Returns the outcome for a reference. Once the manifest has taken too much time, this is nil for
  /// references that may have to change; the others stay, without a hash.
  mutating func outcome(of reference: ArraySlice<UInt8>) -> Outcome? {
    let invalid = Outcome(replacement: Self.nothing, replacedCount: reference.count)
    if Self.isMisread(reference) { return invalid }
    let end = Self.endOfBeginning(reference, keepsPaths: keepsPaths)
    let decided = if let end { decision(for: reference[..<end]) } else { decide(reference) }
    switch decided {
    case nil: return undecided(reference)
    case .invalid: return invalid
    case .valid(let replacement, let hash):
      let rest = reference[(end ?? reference.endIndex)...]
      return Outcome(
        replacement: replacement, replacedCount: reference.count - rest.count,
        absoluteHash: hash.map { StreamParts.hash(of: rest, after: $0) })
    }
  }

  private mutating func decision(for beginning: ArraySlice<UInt8>) -> Decision? {
    if let last, last.beginning == beginning { return last.decision }
    let decision: Decision
    if let known = decisions[beginning] {
      decision = known
    } else {
      guard let new = decide(beginning, name: "x") else { return nil }
      // Bounds the memory for a manifest whose references are all in different directories.
      if decisions.count >= 1024 { decisions = [:] }
      decisions[beginning] = new
      decision = new
    }
    last = (beginning, decision)
    return decision
  }

  /// Decides a text, followed by a name that is removed again.
  private mutating func decide(_ bytes: ArraySlice<UInt8>, name: String = "") -> Decision? {
    guard decisionsLeft > 0 else { return nil }
    decisionsLeft -= 1
    let text = String(decoding: bytes, as: UTF8.self) + name
    guard let absolute = URL(text: text, relativeTo: url), WebURL(absolute.absoluteString) != nil
    else {
      // Clients may find a URL in it all the same.
      return URIReference(text).scheme == nil && Self.isAmbiguous(text)
        ? .invalid : .valid(replacement: nil, absoluteHash: nil)
    }
    let nameLength = name.utf8.count
    return .valid(
      replacement: replacement(of: text, absolute).map { Array($0.utf8.dropLast(nameLength)) },
      absoluteHash: StreamParts.hash(of: absolute.absoluteString.utf8.dropLast(nameLength)))
  }

  /// Returns the outcome for a reference that is not decided; nil if it may have to change.
  private mutating func undecided(_ bytes: ArraySlice<UInt8>) -> Outcome? {
    let text = String(decoding: bytes, as: UTF8.self)
    guard !Self.isAmbiguous(text) else { return nil }
    let reference = URIReference(text)
    if let scheme = reference.scheme?.lowercased() {
      return scheme == "http" || scheme == "https" ? nil : Outcome()
    }
    let isBelowManifest =
      reference.authority == nil && !reference.path.hasPrefix("/")
      && !reference.path.contains("..")
    return isBelowManifest && leavesNames ? Outcome() : nil
  }

  private func replacement(of text: String, _ absolute: URL) -> String? {
    let target = target(absolute)
    if Self.isAmbiguous(text) {
      return target.map(Self.reference) ?? absolute.absoluteString
    }
    guard let target, !isResolvedByClient(text, to: target) else { return nil }
    let fragment = text.utf8.firstIndex(of: UInt8(ascii: "#")).map { String(text[$0...]) } ?? ""
    return Self.reference(to: target) + fragment
  }

  /// Returns the reference that leads to a target: two leading slashes name a host, not a path
  /// (RFC 3986 §4.2), and a browser takes `\` for a slash.
  private static func reference(to target: String) -> String {
    target.hasPrefix("//") || target.hasPrefix("/\\") ? "/." + target : target
  }

  private func isResolvedByClient(_ text: String, to target: String) -> Bool {
    guard let clientURL, let url = URL(text: text, relativeTo: clientURL),
      let parts = WebURL(url.absoluteString)
    else { return false }
    return parts.authority == Self.client && parts.requestTarget == target
  }
}

// MARK: What clients read differently

extension ReferenceRewriting {
  /// Whether clients resolve a reference in different ways: browsers take `\` for a slash, `%2e`
  /// for a dot, and drop tabs and the spaces around it (WHATWG URL §4.4), so that it could climb out
  /// of its stream's host.
  static func isAmbiguous(_ text: String) -> Bool {
    var rest = text.utf8[...]
    if rest.first == 0x20 || rest.last == 0x20 { return true }
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "\\") || byte < 0x20 { return true }
      guard byte == UInt8(ascii: "%") else { continue }
      if rest.starts(with: "2e".utf8) || rest.starts(with: "2E".utf8) { return true }
    }
    return false
  }

  /// Whether a reference names no host, but browsers find one in it, or take it for a relative one
  /// (WHATWG URL §4.4): `http:../x`, `http:/x`, `https:///host`, `///host`.
  static func isMisread(_ reference: ArraySlice<UInt8>) -> Bool {
    let rest = withoutScheme(reference)
    guard rest.starts(with: "//".utf8) else { return rest.count < reference.count }
    return rest.dropFirst(2).first.map("/\\?#".utf8.contains) ?? true
  }

  /// Returns a reference without `http:` or `https:` in any case.
  private static func withoutScheme(_ reference: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    for scheme in ["http:", "https:"] {
      let isScheme = reference.starts(with: scheme.utf8) { byte, letter in
        byte == letter || letter != UInt8(ascii: ":") && byte | 0x20 == letter
      }
      if isScheme { return reference.dropFirst(scheme.utf8.count) }
    }
    return reference
  }

  /// Returns the end of the beginning of a reference, which is empty or ends with a slash, if every
  /// reader of URIs takes the rest alike; nil if there is no such rest.
  ///
  /// - Parameter keepsPaths: whether the rest may be the whole path, and not only a name.
  private static func endOfBeginning(
    _ reference: ArraySlice<UInt8>, keepsPaths: Bool
  ) -> Int? {
    if keepsPaths, let root = endOfRoot(reference), isPlain(reference, from: root) { return root }
    let path = reference.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
    guard let slash = path.lastIndex(of: UInt8(ascii: "/")) else {
      return isPlain(reference, from: reference.startIndex) ? reference.startIndex : nil
    }
    // Behind two slashes is a host.
    let isHost = path[..<slash].last == UInt8(ascii: "/")
    return !isHost && isPlain(reference, from: slash + 1) ? slash + 1 : nil
  }

  /// Returns the index behind the slash with which the path begins, or the start if the path is
  /// relative; nil if it does not begin with one.
  private static func endOfRoot(_ reference: ArraySlice<UInt8>) -> Int? {
    let rest = withoutScheme(reference)
    guard rest.starts(with: "//".utf8) else {
      return rest.startIndex + (rest.first == UInt8(ascii: "/") ? 1 : 0)
    }
    let host = rest.dropFirst(2).prefix { byte in
      switch byte {
      case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "\\"): false
      default: true
      }
    }
    return rest[host.endIndex...].first == UInt8(ascii: "/") ? host.endIndex + 1 : nil
  }

  /// Whether the rest of a path, with its query, is the same for every reader of URIs: it has names
  /// that do not begin with a dot, and no byte that anything decodes, encodes or cuts.
  private static func isPlain(_ reference: ArraySlice<UInt8>, from start: Int) -> Bool {
    var isNameEmpty = true
    // A scheme begins with a letter, and contains no slash.
    var mayEndScheme = start == reference.startIndex && reference.first?.isLetter == true
    var isQuery = false
    for index in start..<reference.endIndex {
      let byte = reference[index]
      switch byte {
      case UInt8(ascii: "/"), UInt8(ascii: "."):
        if isQuery { continue }
        guard !isNameEmpty else { return false }
        isNameEmpty = byte == UInt8(ascii: "/")
        if isNameEmpty { mayEndScheme = false }
        continue
      case UInt8(ascii: "?"):
        guard !isNameEmpty else { return false }
        isQuery = true
      case UInt8(ascii: ":"):
        guard isQuery || !mayEndScheme else { return false }
      case UInt8(ascii: "%"):
        let digits = reference[index...].dropFirst().prefix(2)
        guard let byte = UInt8(hexadecimal: digits) else { return false }
        guard isQuery ? byte != UInt8(ascii: ".") : isPlain(decoded: byte) else { return false }
      // `!$&'()*+,;=@`
      case 0x21, 0x24, 0x26...0x2C, 0x3B, 0x3D, 0x40: break
      default:
        guard byte.isUnreserved else { return false }
      }
      isNameEmpty = false
    }
    return !isNameEmpty
  }

  /// Whether a byte is none of those that some reader decodes before it splits a path.
  private static func isPlain(decoded byte: UInt8) -> Bool {
    byte >= 0x20 && byte != 0x7F && !"./\\".utf8.contains(byte)
  }
}

extension UInt8 {
  fileprivate var isLetter: Bool { (0x61...0x7A).contains(self | 0x20) }
}
