// SPDX-License-Identifier: MIT
#if canImport(UniformTypeIdentifiers)
  import UniformTypeIdentifiers
#endif

extension ContentType {
  /// The type to tell AVFoundation, which throws where it allows some types only and is told of
  /// another (`AVAssetResourceLoadingContentInformationRequest.allowedContentTypes`); nil where
  /// none of them is what the resource is.
  ///
  /// The type itself; else an allowed one of the same format, for it is read by the same code; else
  /// an allowed one that the type conforms to, the nearest first.
  static func choose(_ type: String, from allowed: [String]?) -> String? {
    guard let allowed, !allowed.contains(type) else { return type }
    let above = supertypes(of: type)
    let format = sameFormat.first { $0.contains(type) } ?? []
    let candidates =
      above.filter(format.contains) + format.filter { supertypes(of: $0).contains(type) } + format
      + above
    return candidates.first { $0 != type && allowed.contains($0) }
  }

  static func isSameFormat(_ a: String, _ b: String) -> Bool {
    sameFormat.contains { $0.contains(a) && $0.contains(b) }
  }

  /// All that a type conforms to, the nearest first.
  static func supertypes(of type: String) -> [String] {
    var found: [String] = []
    var level = parents(of: type)
    while !level.isEmpty {
      let new = level.filter { !found.contains($0) }
      found += new
      level = new.flatMap(parents)
    }
    return found
  }

  private static func parents(of type: String) -> [String] {
    if let known = conformance[type] { return known }
    #if canImport(UniformTypeIdentifiers)
      // Sorted, so that a set does not decide by chance.
      return UTType(type)?.supertypes.map(\.identifier).sorted() ?? []
    #else
      return []
    #endif
  }

  /// One file format each under several names; where one cannot be told, the next best follows.
  ///
  /// ISO/IEC 14496-14 (MP4), 3GPP TS 26.244 and 3GPP2 C.S0050 (3GP) are profiles of
  /// ISO/IEC 14496-12, which was made from the QuickTime file format.
  private static let sameFormat: [[String]] = [
    [
      UTI.m4a, UTI.mpeg4Audio, UTI.mpeg4, UTI.m4v, UTI.quickTime, UTI.mobile3GPP,
      UTI.mobile3GPP2, UTI.ringtone, UTI.quickTimeAudio, UTI.protectedM4A, UTI.protectedM4B,
      UTI.protectedM4V,
    ],
    // AIFF-C's decoders read AIFF.
    [UTI.aiff, UTI.aifc],
    // RFC 3003 has one type for both layers.
    [UTI.mp3, UTI.mp2],
    [UTI.transportStream, UTI.avchd],
    // WebM is a profile of Matroska.
    [UTI.webm, UTI.matroska],
    [UTI.ogg, UTI.ogv],
  ]

  /// Apple's "System-Declared Uniform Type Identifiers" ("Conforms to"); for the others, what they
  /// evidently are.
  private static let conformance: [String: [String]] = {
    var table: [String: [String]] = [
      UTI.mpeg4: ["public.movie"], UTI.m4v: [UTI.mpeg4], UTI.protectedM4V: [UTI.m4v],
      UTI.mpeg4Audio: ["public.audio"], UTI.m4a: [UTI.mpeg4Audio],
      UTI.ringtone: [UTI.mpeg4Audio], UTI.protectedM4B: [UTI.protectedM4A],
      UTI.aiff: [UTI.aifc],
      UTI.m3uPlaylist: ["public.plain-text", "public.playlist"],
      "public.plain-text": ["public.text"], "public.text": ["public.data", "public.content"],
      "public.playlist": [], "public.movie": ["public.audiovisual-content"],
      "public.audio": ["public.audiovisual-content"],
      "public.audiovisual-content": ["public.data", "public.content"],
      "public.data": ["public.item"], "public.content": [], "public.item": [],
    ]
    for type in [
      UTI.mp3, UTI.mp2, UTI.aac, UTI.ac3, UTI.eac3, UTI.amr, UTI.protectedM4A,
      UTI.quickTimeAudio, UTI.wav, UTI.aifc, UTI.caf, UTI.au, UTI.flac, UTI.ogg,
    ] { table[type] = ["public.audio"] }
    for type in [
      UTI.quickTime, UTI.mobile3GPP, UTI.mobile3GPP2, UTI.mpeg, UTI.transportStream, UTI.avchd,
      UTI.ogv, UTI.webm, UTI.matroska, UTI.avi,
    ] { table[type] = ["public.movie"] }
    return table
  }()
}
