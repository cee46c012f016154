import Foundation
enum ContentType {
  static let sniffLength = 1024
  static func declared(mimeType: String?, pathExtension: String) -> String? {
    switch mimeType {
    case "audio/wav": "com.microsoft.waveform-audio";
    case "application/vnd.apple.mpegurl": "public.m3u-playlist";
    case "audio/mpeg": "public.mp3";
    default: nil
    }
  }
  static func sniffed(_ b: Data) -> String? { nil }
  static func isPlaylist(_ t: String) -> Bool { t == "public.m3u-playlist" }
  static func choose(_ t: String, from a: [String]?) -> String? {
    a?.contains(t) != false ? t : nil
  }
}
