// SPDX-License-Identifier: MIT
import Foundation

/// A base of references (RFC 3986 §5.1), reduced to the facts that decide which references leave
/// the base's host when they are resolved below another prefix: the origin, and the number of
/// directories in the path. Thus a chain of bases costs no more than its own text.
struct DASHBase: Sendable, Hashable {
  /// `https://host`; nil if no reference resolves against this base, which is a `urn:` for example.
  private var origin: String?
  private var directories: Int

  /// No name of a host is longer, even with user information and a port.
  private static let longestAuthority = 1024

  init(_ url: URL) {
    self.init(origin: nil, directories: 0)
    self = below(url.absoluteString)
  }

  private init(origin: String?, directories: Int) {
    self.origin = origin
    self.directories = directories
  }

  /// Returns the base that a BaseURL makes of this one.
  func below(_ text: String) -> DASHBase {
    let reference = URIReference(text)
    let isRooted = reference.path.utf8.first == UInt8(ascii: "/")
    if reference.scheme != nil || reference.authority != nil {
      let path = Self.walk(reference.path, from: 0)
      return DASHBase(origin: origin(of: reference), directories: path.directories)
    }
    let path = Self.walk(reference.path, from: isRooted ? 0 : directories)
    return DASHBase(origin: origin, directories: path.directories)
  }

  /// Returns the absolute text of a reference that has a scheme, a host or a path from the root, or
  /// that climbs above the root by `..`; nil for any other, which resolves alike below any prefix,
  /// and for one without a possible host.
  ///
  /// Identifiers of templates (`$Number%05d$`) stay as they are, dot segments are removed, and a
  /// fragment is dropped.
  func leaving(_ text: String) -> String? {
    let reference = URIReference(text)
    let leaves =
      reference.scheme != nil || reference.authority != nil
      || reference.path.utf8.first == UInt8(ascii: "/")
      || Self.walk(reference.path, from: directories).climbs
    guard leaves else { return nil }
    // A reference that climbs above the root has lost all directories of its base.
    guard let origin = origin(of: reference) else {
      let isOpaque = reference.scheme != nil && reference.authority == nil
      return isOpaque ? reference.textWithoutFragment : nil
    }
    var target = reference.resolved(against: URIReference(origin + "/"))
    // References below `https://host` resolve as below `https://host/` (RFC 3986 §5.2.3).
    if target.path.isEmpty { target.path = "/" }
    return target.textWithoutFragment
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
