// SPDX-License-Identifier: MIT
public import Foundation

/// The known properties of a resource besides its bytes.
public struct ContentInformation: Sendable, Hashable {
  /// The length in bytes; nil while unknown (an origin that streams without a length).
  public var length: Int64?
  /// The media type as the origin sent it, lower case and without parameters: `audio/flac`.
  public var mimeType: String?
  /// Whether the origin supports range requests.
  public var supportsRanges: Bool
  /// The strong ETag, else Last-Modified, as in the header; nil if the origin sent neither.
  public var validator: String?
  /// The URL that responded, after redirects.
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
