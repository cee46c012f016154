// SPDX-License-Identifier: MIT
import Foundation

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

  private struct Decision {
    /// The replacement of the text; nil to leave it.
    var replacement: [UInt8]?
    /// The hash of the absolute form of the text.
    var absoluteHash: UInt64?
    /// Whether `nothing` takes the place of the whole reference.
    var isInvalid = false
  }

  private struct Known {
    var beginning: [UInt8]
    var decision: Decision
  }

  /// The URL of the manifest after redirects.
  private let url: URL
  /// The manifest's URL for the client.
  private let clientURL: URL?
  private let keepsPaths: Bool
  private let target: (URL) -> String?
  /// The decisions by the hashes of the beginnings.
  private var decisions: [UInt64: Known] = [:]
  private var last: Known?
  private var decisionsLeft: Int
  /// Whether names relative to the manifest stay as they are.
  private lazy var leavesNames =
    URL(text: "x", relativeTo: url).map { replacement(of: "x", $0) == nil } ?? true

  /// A name that no reference has.
  private static let client = "client.invalid"

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

  /// Returns the outcome for the reference at `range` of the bytes. Once the manifest has taken too
  /// much time, this is nil for references that may have to change; the others stay, without a hash.
  mutating func outcome(of bytes: [UInt8], in range: Range<Int>) -> Outcome? {
    let (isMisread, end) = bytes.withUnsafeBufferPointer { buffer in
      let text = UnsafeBufferPointer(rebasing: buffer[range])
      return (Self.isMisread(text), ReferenceSplit.endOfBeginning(text, keepsPaths: keepsPaths))
    }
    if isMisread { return Self.invalid(range) }
    guard let end else {
      guard let decision = decide(bytes[range]) else { return undecided(bytes[range]) }
      if decision.isInvalid { return Self.invalid(range) }
      return Outcome(
        replacement: decision.replacement, replacedCount: range.count,
        absoluteHash: decision.absoluteHash)
    }
    let rest = range.lowerBound + end..<range.upperBound
    guard let decision = decision(for: bytes, range.lowerBound..<rest.lowerBound) else {
      return undecided(bytes[range])
    }
    if decision.isInvalid { return Self.invalid(range) }
    var outcome = Outcome(replacement: decision.replacement, replacedCount: end)
    if let start = decision.absoluteHash {
      outcome.absoluteHash = bytes.withUnsafeBufferPointer { buffer in
        StreamParts.hash(UnsafeBufferPointer(rebasing: buffer[rest]), after: start)
      }
    }
    return outcome
  }

  private static func invalid(_ range: Range<Int>) -> Outcome {
    Outcome(replacement: nothing, replacedCount: range.count)
  }

  private mutating func decision(for bytes: [UInt8], _ range: Range<Int>) -> Decision? {
    if let last, Self.is(last.beginning, equalTo: bytes, range) { return last.decision }
    let hash = StreamParts.hash(of: bytes[range])
    if let known = decisions[hash], Self.is(known.beginning, equalTo: bytes, range) {
      last = known
      return known.decision
    }
    guard let decision = decide(bytes[range], name: "x") else { return nil }
    let known = Known(beginning: Array(bytes[range]), decision: decision)
    // Bounds the memory for a manifest whose references are all in different directories.
    if decisions.count >= 1024 { decisions = [:] }
    decisions[hash] = known
    last = known
    return decision
  }

  private static func `is`(
    _ beginning: [UInt8], equalTo bytes: [UInt8], _ range: Range<Int>
  ) -> Bool {
    beginning.count == range.count && bytes.hasBytes(beginning, at: range.lowerBound)
  }

  /// Decides a text, followed by a name that is removed again.
  private mutating func decide(_ bytes: ArraySlice<UInt8>, name: String = "") -> Decision? {
    guard decisionsLeft > 0 else { return nil }
    decisionsLeft -= 1
    let text = String(decoding: bytes, as: UTF8.self) + name
    guard let absolute = URL(text: text, relativeTo: url), WebURL(absolute.absoluteString) != nil
    else {
      // Clients may find a URL in it all the same.
      return Decision(isInvalid: URIReference(text).scheme == nil && Self.isAmbiguous(text))
    }
    var decision = Decision()
    decision.absoluteHash = StreamParts.hash(
      of: absolute.absoluteString.utf8.dropLast(name.utf8.count))
    decision.replacement = replacement(of: text, absolute).map {
      Array($0.utf8.dropLast(name.utf8.count))
    }
    return decision
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

  /// Takes the place of a reference that no client must follow: an URL that leads nowhere.
  static let nothing = Array("about:invalid".utf8)

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
  static func isMisread(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    let scheme = lengthOfScheme(text)
    func isSlash(at index: Int) -> Bool {
      index < text.count && text[index] == UInt8(ascii: "/")
    }
    guard isSlash(at: scheme), isSlash(at: scheme + 1) else { return scheme > 0 }
    guard scheme + 2 < text.count else { return true }
    switch text[scheme + 2] {
    case UInt8(ascii: "/"), UInt8(ascii: "\\"), UInt8(ascii: "?"), UInt8(ascii: "#"): return true
    default: return false
    }
  }

  /// Returns the length of `http:` or `https:`, in any case; 0 if the text begins with neither.
  private static func lengthOfScheme(_ text: UnsafeBufferPointer<UInt8>) -> Int {
    func isLetter(_ letter: UInt8, at index: Int) -> Bool { text[index] | 0x20 == letter }
    guard text.count >= 5, isLetter(UInt8(ascii: "h"), at: 0), isLetter(UInt8(ascii: "t"), at: 1),
      isLetter(UInt8(ascii: "t"), at: 2), isLetter(UInt8(ascii: "p"), at: 3)
    else { return 0 }
    let end = isLetter(UInt8(ascii: "s"), at: 4) ? 5 : 4
    return end < text.count && text[end] == UInt8(ascii: ":") ? end + 1 : 0
  }

  private func isResolvedByClient(_ text: String, to target: String) -> Bool {
    guard let clientURL, let url = URL(text: text, relativeTo: clientURL),
      let parts = WebURL(url.absoluteString)
    else { return false }
    return parts.authority == Self.client && parts.requestTarget == target
  }
}
