// SPDX-License-Identifier: MIT
public import Foundation

/// What is known of a resource besides its bytes.
public struct ContentInformation: Sendable, Hashable {
  /// In bytes; nil while it is unknown (an origin that streams without a length).
  public var length: Int64?
  /// The media type without parameters, lower case, as the origin gave it: `audio/flac`.
  public var mimeType: String?
  /// Whether the origin answers ranges.
  public var supportsRanges: Bool
  /// The strong ETag, else Last-Modified, as in the header; nil where the origin gave neither.
  public var validator: String?
  /// The URL that answered, after redirects.
  public var finalURL: URL

  public init(
    length: Int64?, mimeType: String?, supportsRanges: Bool, validator: String?, finalURL: URL
  ) {
    self.length = length
    self.mimeType = mimeType
    self.supportsRanges = supportsRanges
    self.validator = validator
    self.finalURL = finalURL
  }
}
