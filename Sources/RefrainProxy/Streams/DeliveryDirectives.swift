// SPDX-License-Identifier: MIT
import Foundation

/// The parameters by which a client selects a version of a live playlist (`_HLS_msn`,
/// draft-pantos-hls-rfc8216bis §6.2.5).
extension URL {
  /// The text of the URL without them.
  var textWithoutDeliveryDirectives: String {
    let text = absoluteString
    guard let mark = text.firstIndex(of: "?"), text[mark...].contains("_HLS_") else { return text }
    let query = text[text.index(after: mark)...].prefix { $0 != "#" }
    let kept = query.split(separator: "&", omittingEmptySubsequences: false)
      .filter { !$0.hasPrefix("_HLS_") }
    return kept.isEmpty ? String(text[..<mark]) : "\(text[...mark])\(kept.joined(separator: "&"))"
  }

  /// The URL of the playlist of which this one is a version; the URL itself if it has none of them.
  var withoutDeliveryDirectives: URL {
    let text = textWithoutDeliveryDirectives
    return text == absoluteString ? self : URL(string: text) ?? self
  }
}
