// SPDX-License-Identifier: MIT

/// Files that consist of boxes: MP4 and its relatives (ISO/IEC 14496-12), and QuickTime files, from
/// which they were made.
enum ISOMedia {
  static func type(_ bytes: FirstBytes) -> String? {
    guard let size = bytes.integer(at: 0, size: 4), let name = bytes.fourCC(at: 4) else {
      return nil
    }
    switch name {
    // 14496-12 §4.3; styp, §8.16.2, is the ftyp of a segment.
    case "ftyp", "styp": return brandedType(bytes, size: size)
    // QuickTime File Format, "The Movie File": atoms without a preceding type, which was stored
    // elsewhere. `wide` reserves the place for a 64-bit size.
    case "wide": return size == 8 ? UTI.quickTime : nil
    case "moov": return size > 8 ? UTI.quickTime : nil
    // A size of 0 extends to the end; with 1, a 64-bit size follows the name.
    case "mdat": return size == 0 || size == 1 || size >= 8 ? UTI.quickTime : nil
    case "free", "skip":
      guard size >= 8, let next = bytes.fourCC(at: size + 4) else { return nil }
      if next == "ftyp" || next == "styp" {
        return bytes.integer(at: size, size: 4).flatMap {
          brandedType(bytes, at: size, size: $0)
        }
      }
      return ["moov", "mdat", "wide"].contains(next) ? UTI.quickTime : nil
    default: return nil
    }
  }

  /// Returns the type of the major brand; if that is not specific, of the first compatible brand
  /// that is.
  private static func brandedType(_ bytes: FirstBytes, at start: Int = 0, size: Int) -> String? {
    guard size >= 16, size % 4 == 0, size <= 4096, let major = bytes.fourCC(at: start + 8) else {
      return nil
    }
    guard !imageBrands.contains(major) else { return nil }
    if let type = type(ofBrand: major) { return type }
    let compatible = stride(from: start + 16, to: start + size, by: 4).compactMap(bytes.fourCC)
    return compatible.lazy.compactMap(type(ofBrand:)).first ?? UTI.mpeg4
  }

  /// Returns the type of a brand, from the MP4 registration authority's list
  /// (mp4ra.org/registered-types/brands). Brands that are not here (isom, mp42, avc1, dash, cmfc …)
  /// are MP4 files of any content.
  private static func type(ofBrand brand: String) -> String? {
    switch brand {
    case "M4A ", "M4B ", "F4A ", "F4B ": UTI.m4a
    case "M4P ": UTI.protectedM4A
    case "M4V ", "M4VH", "M4VP": UTI.m4v
    case "qt  ": UTI.quickTime
    // 3GPP TS 26.244 §5.4 and 3GPP2 C.S0050: the last character is the release.
    case _ where brand.hasPrefix("3g2"): UTI.mobile3GPP2
    case _ where ["3gp", "3gr", "3gs", "3ge", "3gg"].contains(where: brand.hasPrefix):
      UTI.mobile3GPP
    default: nil
    }
  }

  /// The brands of pictures in the same boxes: HEIF (ISO/IEC 23008-12), AVIF, JPEG 2000 and others.
  private static let imageBrands: Set<String> = [
    "mif1", "msf1", "heic", "heix", "heim", "heis", "hevc", "hevx", "avif", "avis", "crx ",
    "jp2 ", "jpm ", "jpx ",
  ]
}
