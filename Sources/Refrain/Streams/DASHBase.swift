// SPDX-License-Identifier: MIT
import Foundation

/// A base of references (RFC 3986 §5.1), reduced to the facts that decide which references leave
/// the base's host when they are resolved below another prefix: the origin, and the number of
/// directories in the path. Thus a chain of bases costs no more than its own text.
struct DASHBase: Sendable, Hashable {
  /// What a reference leads to.
  enum Target: Sendable, Hashable {
    /// The reference resolves alike below any prefix, or has no possible host.
    case inside
    /// The reference has to be replaced by this absolute text. Identifiers of templates
    /// (`$Number%05d$`) stay as they are, dot segments are removed, and a fragment is dropped.
    case absolute(String)
    /// With one of the bases that clients may choose, the reference climbs above the root by `..`:
    /// below a prefix it would name another host.
    case unsafe
  }

  /// `https://host`; nil if no reference resolves against this base, which is a `urn:` for example.
  private var origin: String?
  private var directories: Int
  /// The fewest directories of the bases that clients may choose in place of this one.
  private(set) var fewestDirectories: Int
  /// The path of a document whose bases above are unknown; nil below its own BaseURLs.
  private var path: String?

  /// No name of a host is longer, even with user information and a port.
  private static let longestAuthority = 1024

  /// - Parameters:
  ///   - url: the URL of a document.
  ///   - isCertain: whether the references in the document have no other bases than those in it.
  init(_ url: URL, isCertain: Bool = true) {
    self.init(origin: nil, directories: 0)
    self = below(url.absoluteString)
    if !isCertain {
      fewestDirectories = 0
      path = URIReference(url.absoluteString).path
    }
  }

  private init(origin: String?, directories: Int) {
    self.origin = origin
    self.directories = directories
    fewestDirectories = directories
  }

  /// Returns the base that BaseURLs of one level make of this one: the first one, or any other of
  /// them, which are alternatives.
  func below(_ alternatives: [String]) -> DASHBase {
    guard let first = alternatives.first else { return self }
    var base = below(first)
    for other in alternatives.dropFirst() {
      base.fewestDirectories = min(base.fewestDirectories, below(other).fewestDirectories)
    }
    return base
  }

  /// Returns the base that a BaseURL makes of this one.
  func below(_ text: String) -> DASHBase {
    let reference = URIReference(text)
    let isAbsolute = reference.scheme != nil || reference.authority != nil
    let isRooted = isAbsolute || reference.path.utf8.first == UInt8(ascii: "/")
    let path = Self.walk(reference.path, from: isRooted ? 0 : directories)
    var base = DASHBase(
      origin: isAbsolute ? origin(of: reference) : origin, directories: path.directories)
    if !isRooted {
      base.fewestDirectories = Self.walk(reference.path, from: fewestDirectories).directories
    }
    // Clients resolve it in different ways, or against nothing.
    if base.origin == nil || ReferenceRewriting.isAmbiguous(text) { base.fewestDirectories = 0 }
    return base
  }

  /// Returns what a reference leads to. It leaves if it has a scheme, a host or a path from the
  /// root, or if it climbs above the root by `..`.
  ///
  /// - Parameter fewest: the fewest directories of all bases of the reference; nil: of this one.
  func target(of text: String, fewest: Int? = nil) -> Target {
    let reference = URIReference(text)
    let climbs = Self.walk(reference.path, from: directories).climbs
    let leaves =
      reference.scheme != nil || reference.authority != nil
      || reference.path.utf8.first == UInt8(ascii: "/") || climbs
    guard leaves else {
      let fewest = min(fewest ?? fewestDirectories, fewestDirectories)
      guard Self.walk(reference.path, from: fewest).climbs else { return .inside }
      guard let origin, let path else { return .unsafe }
      return .absolute(
        reference.resolved(against: URIReference(origin + path)).textWithoutFragment)
    }
    // A reference that climbs above the root has lost all directories of its base.
    guard let origin = origin(of: reference) else {
      if reference.scheme != nil, reference.authority == nil {
        return .absolute(reference.textWithoutFragment)
      }
      return climbs ? .unsafe : .inside
    }
    var target = reference.resolved(against: URIReference(origin + "/"))
    // References below `https://host` resolve as below `https://host/` (RFC 3986 §5.2.3).
    if target.path.isEmpty { target.path = "/" }
    return .absolute(target.textWithoutFragment)
  }
  private func origin(of reference: URIReference) -> String? {
    guard let authority = reference.authority else {
      return reference.scheme == nil ? origin : nil
    }
    // A host that is a dot segment would vanish from a path that contains it.
    guard !["", ".", ".."].contains(authority), authority.utf8.count <= Self.longestAuthority else {
      return nil
    }
    if let scheme = reference.scheme { return "\(scheme)://\(authority)" }
    guard let origin, let scheme = URIReference(origin).scheme else { return nil }
    return "\(scheme)://\(authority)"
  }

  /// Follows the segments of a path (RFC 3986 §5.2.4).
  ///
  /// - Returns: the number of directories at its end, and whether a `..` was found at the root.
  private static func walk(
    _ path: String, from start: Int
  ) -> (directories: Int, climbs: Bool) {
    var directories = start
    var climbs = false
    var rest = path.utf8[...]
    if rest.first == UInt8(ascii: "/") { rest.removeFirst() }
    while true {
      let segment = rest.prefix { $0 != UInt8(ascii: "/") }
      let isLast = segment.endIndex == rest.endIndex
      if segment.elementsEqual("..".utf8) {
        if directories == 0 { climbs = true } else { directories -= 1 }
      } else if !isLast, !segment.elementsEqual(".".utf8) {
        directories += 1
      }
      if isLast { return (directories, climbs) }
      rest = rest[segment.endIndex...].dropFirst()
    }
  }
}
