// SPDX-License-Identifier: MIT

extension Validator {
  /// The relation of two validators of one resource.
  enum Match: Sendable, Hashable {
    /// One generation: equal strong ETags; or no ETags, and equal Last-Modified.
    case same
    /// Most likely one generation, but the origin does not vouch for every byte: equal weak ETags,
    /// or equal Last-Modified if only one side has an ETag; or the equal value came late.
    case weaklySame
    /// Two generations.
    case different
    /// Nothing to compare: one side is empty, or they have nothing in common.
    case unknown
  }

  /// Compares as in RFC 9110 §8.8.3.2, with Last-Modified if ETags do not decide.
  func matches(_ other: Validator) -> Match {
    let modified = compareLastModified(other)
    switch (etag.map(EntityTag.init), other.etag.map(EntityTag.init)) {
    case (let mine?, let theirs?):
      guard mine.opaque == theirs.opaque else { return .different }
      // Equal malformed tags are as good as strong ones: servers that omit the quotes mean a
      // digest, except after `W/`.
      if mine.kind != .weak, theirs.kind != .weak, !mine.text.hasPrefix("W/") {
        return isLateETag == true || other.isLateETag == true ? .weaklySame : .same
      }
      // A weak tag may stay the same while bytes change; a new date shows it.
      return modified == .different ? .different : .weaklySame
    case (nil, nil):
      let isLate = isLateLastModified == true || other.isLateLastModified == true
      return isLate && modified == .same ? .weaklySame : modified
    default:
      return modified == .same ? .weaklySame : modified
    }
  }

  private func compareLastModified(_ other: Validator) -> Match {
    guard let mine = lastModified, let theirs = other.lastModified else { return .unknown }
    if mine == theirs { return .same }
    // One date, written in two of HTTP's forms.
    if let mine = HTTPDate.parse(mine), let theirs = HTTPDate.parse(theirs), mine == theirs {
      return .same
    }
    return .different
  }
}
