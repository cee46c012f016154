// snippet.hide
// The second example of the README. On Linux, the tests' stand-in takes AVFoundation's place.
#if canImport(AVFoundation)
  // snippet.show
  import AVFoundation
// snippet.hide
#else
  import AVFoundationStandIn
  import Foundation
#endif
// snippet.show
import Refrain
import RefrainAVFoundation

// snippet.hide
let url = URL(filePath: "/dev/null")
// snippet.show
let cache = try MediaCache()  // one per app; keep it
let player = AVPlayer(playerItem: AVPlayerItem(asset: cache.asset(for: url)))
player.automaticallyWaitsToMinimizeStalling = false  // it cannot measure a delegate's rate
player.play()  // received bytes are stored; next time from disk, even offline
