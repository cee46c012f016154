// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import RefrainPlayer

  extension PlayReport {
    init(_ media: Media, _ report: PlaybackReport) {
      let isStream = report.statistics == nil && !media.url.isFileURL
      let statistics = report.statistics ?? MediaReader.Statistics()
      self.init(
        url: media.url.withoutUserInfo.absoluteString,
        timeToFirstSound: report.timeToFirstSound.map { $0 / .seconds(1) },
        bytesFromOrigin: statistics.bytesFromOrigin, bytesFromDisk: statistics.bytesFromDisk,
        requests: statistics.requests, isFile: media.url.isFileURL, isStream: isStream)
    }
  }
#endif
