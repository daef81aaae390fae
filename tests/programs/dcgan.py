"""A generative adversarial network of convolutions on 8 by 8 pictures of discs."""

import numpy as np

import nbgrad as torch
import nbgrad.nn as nn
import nbgrad.optim as optim

rng = np.random.default_rng(2)
nz, ngf, ndf = 6, 4, 4


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 2, 4, 1, 0, bias=False),
            nn.BatchNorm2d(ngf * 2),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, 1, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, input):
        return self.main(input)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, ndf, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf, ndf * 2, 3, 1, 1, bias=False),
            nn.BatchNorm2d(ndf * 2),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf * 2, 1, 4, 1, 0, bias=False),
        )

    def forward(self, input):
        return self.main(input).view(-1)


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        m.weight.data.copy_(torch.from_numpy(rng.normal(0.0, 0.1, tuple(m.weight.shape))))
    elif classname.find("BatchNorm") != -1:
        m.weight.data.copy_(torch.from_numpy(rng.normal(1.0, 0.02, tuple(m.weight.shape))))
        m.bias.data.fill_(0)


def discs(count):
    y, x = np.mgrid[:8, :8]
    centres, radii = rng.uniform(2, 6, (count, 2, 1, 1)), rng.uniform(1, 3, (count, 1, 1))
    inside = (y - centres[:, 0]) ** 2 + (x - centres[:, 1]) ** 2 < radii**2
    return torch.from_numpy(np.where(inside, 1.0, -1.0)[:, None])


def train(steps):
    netG, netD = Generator().double(), Discriminator().double()
    netG.apply(weights_init)
    netD.apply(weights_init)
    criterion = nn.BCEWithLogitsLoss()
    optimizerD = optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.999))
    optimizerG = optim.Adam(netG.parameters(), lr=2e-3, betas=(0.5, 0.999))
    losses = []
    for _ in range(steps):
        real, noise = discs(6), torch.from_numpy(rng.normal(size=(6, nz, 1, 1)))
        label = torch.full((6,), 1.0, dtype=torch.float64)
        netD.zero_grad()
        errD_real = criterion(netD(real), label)
        errD_real.backward()
        fake = netG(noise)
        errD_fake = criterion(netD(fake.detach()), torch.zeros_like(label))
        errD_fake.backward()
        optimizerD.step()
        netG.zero_grad()
        errG = criterion(netD(fake), label)
        errG.backward()
        optimizerG.step()
        losses.append((errD_real + errD_fake + errG).item())
    return losses
