// SPDX-License-Identifier: MIT
import Foundation
import Refrain

/// A base of references (RFC 3986 §5.1), reduced to the facts that decide which references leave
/// the base's host when they are resolved below another prefix: the origin, and the number of
/// directories in the path. Thus a chain of bases costs no more than its own text.
struct DASHBase {
  /// What a reference leads to.
  enum Target {
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
  private var directories = 0
  /// The fewest directories of the bases that clients may choose in place of this one.
  private(set) var fewestDirectories = 0
  /// The path of a document whose bases above are unknown; nil below its own BaseURLs.
  private var path: String?
  /// The whole base (ISO/IEC 23009-1 §5.6.4); nil where clients may choose another one, where
  /// nothing resolves against it, and where it is longer than any in use.
  private var whole: URIReference?
  /// Whether a BaseURL of the chain has a scheme.
  private(set) var isBelowAbsolute = false

  /// No name of a host is longer, even with user information and a port.
  private static let longestAuthority = 1024
  private static let longestWhole = 2048

  private init() {}

  /// - Parameters:
  ///   - url: the URL of a document.
  ///   - isCertain: whether the references in the document have no other bases than those in it.
  init(_ url: URL, isCertain: Bool) {
    let text = url.absoluteString
    self = DASHBase().below(text)
    if !isCertain {
      fewestDirectories = 0
      path = URIReference(text).path
    } else if text.utf8.count <= Self.longestWhole {
      whole = URIReference(text)
    }
  }

  /// Returns the base that BaseURLs of one level make of this one: the first one, or any other of
  /// them, which are alternatives.
  ///
  /// - Parameter allowance: the bytes left for whole bases.
  func below(_ alternatives: [String], _ allowance: inout Int) -> DASHBase {
    guard let first = alternatives.first else { return self }
    var base = below(first)
    for other in alternatives.dropFirst() {
      base.fewestDirectories = min(base.fewestDirectories, below(other).fewestDirectories)
    }
    base.isBelowAbsolute = isBelowAbsolute || URIReference(first).scheme != nil
    if alternatives.count == 1, allowance > 0, let whole = resolved(first) {
      allowance -= whole.path.utf8.count + (whole.query?.utf8.count ?? 0)
      base.whole = whole
    }
    return base
  }

  private func below(_ text: String) -> DASHBase {
    let reference = URIReference(text)
    let isAbsolute = reference.scheme != nil || reference.authority != nil
    let isRooted = isAbsolute || reference.path.utf8.first == UInt8(ascii: "/")
    func directories(from start: Int) -> Int {
      Self.walk(reference.path, from: isRooted ? 0 : start).directories
    }
    var base = DASHBase()
    base.origin = isAbsolute ? origin(of: reference) : origin
    base.directories = directories(from: self.directories)
    // Clients resolve it in different ways, or against nothing.
    let isUnclear = base.origin == nil || ReferenceRewriting.isAmbiguous(text)
    base.fewestDirectories = isUnclear ? 0 : directories(from: fewestDirectories)
    return base
  }

  /// Returns what a reference leads to. It leaves if it has a scheme, a host or a path from the
  /// root, or if it climbs above the root by `..`.
  ///
  /// - Parameter fewest: the fewest directories of the bases of the reference besides this one.
  func target(of text: String, fewest: Int) -> Target {
    let reference = URIReference(text)
    let climbs = Self.walk(reference.path, from: directories).climbs
    let leaves =
      reference.scheme != nil || reference.authority != nil
      || reference.path.utf8.first == UInt8(ascii: "/") || climbs
    guard leaves else {
      guard Self.walk(reference.path, from: min(fewest, fewestDirectories)).climbs else {
        return .inside
      }
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

  /// Returns the absolute form of a reference; nil if it is unknown, or no http or https URL.
  func resolved(_ text: String) -> URIReference? {
    guard let whole, text.utf8.count <= Self.longestWhole, !ReferenceRewriting.isAmbiguous(text)
    else { return nil }
    let target = URIReference(text).resolved(against: whole)
    guard let scheme = target.scheme?.lowercased(), scheme == "http" || scheme == "https",
      let authority = target.authority, !authority.isEmpty,
      target.path.utf8.count <= Self.longestWhole
    else { return nil }
    return target
  }

  private func origin(of reference: URIReference) -> String? {
    guard let authority = reference.authority else {
      return reference.scheme == nil ? origin : nil
    }
    // A host that is a dot segment would vanish from a path that contains it.
    guard !["", ".", ".."].contains(authority), authority.utf8.count <= Self.longestAuthority,
      let scheme = reference.scheme ?? origin.flatMap({ URIReference($0).scheme })
    else { return nil }
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
