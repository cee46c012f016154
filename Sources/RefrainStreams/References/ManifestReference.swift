// SPDX-License-Identifier: MIT

/// A reference of a manifest to another resource, and its place in the manifest.
package struct ManifestReference: Sendable, Hashable {
  /// The role of the resource in the stream.
  package enum Kind: Sendable, Hashable {
    /// A variant, a rendition or an I-frame playlist.
    case playlist
    /// A media segment.
    case segment
    /// A part of a segment of a low-latency stream.
    case part
    /// A part or an initialization that the origin has not finished.
    case preloadHint
    /// The playlist of another rendition, with its latest segment.
    case renditionReport
    /// A key.
    case key
    /// The initialization of segments.
    case initialization
    /// Session data.
    case data
    /// A server of content steering.
    case steering
    /// An interstitial, or a list of them.
    case interstitial
    /// A base of other references (DASH).
    case base
    /// The manifest's own next location (DASH).
    case location
    /// A template of segments' URLs (DASH).
    case template
  }

  package var kind: Kind
  /// The bytes of the reference in the body.
  package var range: Range<Int>
  /// The reference after the decoding of character references. It is not resolved.
  package var text: String
}
